import { describe, expect, it, onTestFinished } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { hourMs, minuteMs } from '../../../contract/intervals.ts';
import { commitWindow } from '../../../store/commit/commit-windows.ts';
import { inTransaction } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { storePiece } from '../../../store/transfer/import-points.ts';
import { openTestStore } from '../open-store.ts';

async function openStore() {
  const store = await openTestStore();
  onTestFinished(() => store.close());
  await store.database.pool.query('create table kept (id int primary key)');
  return store.database;
}

it('does not compile statements: the views have thousands of expressions, of which a query runs few', async () => {
  const database = await openStore();
  expect((await database.pool.query('show jit')).rows).toEqual([{ jit: 'off' }]);
});

describe('inTransaction', () => {
  it('throws when the server answers COMMIT with ROLLBACK, and keeps the connection', async () => {
    const database = await openStore();
    const ended = inTransaction(database, async (client) => {
      await client.query('insert into kept values (1)');
      // The caller does not see this error, but the server has aborted the transaction.
      await client.query('insert into kept values (1)').catch(() => {});
      return 'stored';
    });
    await expect(ended).rejects.toThrow(/COMMIT.*ROLLBACK/);
    expect((await database.pool.query('select from kept')).rowCount).toBe(0);
    await inTransaction(database, (client) => client.query('insert into kept values (2)'));
    expect((await database.pool.query('select from kept')).rowCount).toBe(1);
    expect(database.pool.totalCount).toBe(1);
  });
});

describe('points dropped by a trigger', () => {
  const startMs = Date.UTC(2024, 0, 1);
  const window = { startMs, endMs: startMs + hourMs };
  const series = {
    dataset: 'candles',
    exchange: 'x',
    baseId: 'bitcoin',
    quoteId: 'tether',
    interval: 'm1',
  } as const;
  const rows = [1, 2].map((count) => {
    const value = decimalText(String(count));
    const period = startMs + count * minuteMs;
    return { open: value, high: value, low: value, close: value, volume: value, period };
  });

  it('fail a commit and an import after a bounded number of attempts', async () => {
    const database = await openStore();
    const { seriesId } = await trackSeries(database, series, window.startMs, window.endMs);
    const commit = (count: number) =>
      commitWindow(database, {
        seriesId,
        series,
        window,
        lane: 'backfill',
        attempt: 1,
        answer: {
          rows: rows.slice(0, count),
          rejected: [],
          sourceTimeMs: null,
          status: 200,
          bytes: 10,
          durationMs: 1,
        },
        nowMs: Date.now(),
        graceMs: 0,
        emptyConfirmMs: hourMs,
      });
    await commit(1);
    await database.pool.query(`
      create function dropped() returns trigger language plpgsql as 'begin return null; end';
      create trigger dropped before insert on tidemark.candle_points for each row execute function dropped()`);
    await expect(commit(2)).rejects.toThrow(/trigger drops them/);
    const piece = storePiece(database, {
      seriesId,
      series,
      window,
      rows,
      refused: [],
      overwrite: false,
      nowMs: Date.now(),
      covered: [window],
      confirmedEmpty: [],
      beforeBeginning: [],
      graceMs: 0,
    } as Parameters<typeof storePiece>[1]);
    await expect(piece).rejects.toThrow(/trigger drops them/);
  });
});
