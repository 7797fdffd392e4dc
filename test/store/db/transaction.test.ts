import { expect, it } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { hourMs, minuteMs } from '../../../contract/intervals.ts';
import { commitWindow } from '../../../store/commit/commit-windows.ts';
import { inTransaction } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { storePiece } from '../../../store/transfer/import-points.ts';
import { answerOf } from '../committing.ts';
import { openOwnStore } from '../open-store.ts';
import { market } from '../views/candles.ts';

it('inTransaction throws when the server answers COMMIT with ROLLBACK, and keeps the connection', async () => {
  const { database } = await openOwnStore();
  await database.pool.query('create table kept (id int primary key)');
  const ended = inTransaction(database, async (client) => {
    await client.query('insert into kept values (1)');
    // The caller does not see this error, but the server has aborted the transaction.
    await client.query('insert into kept values (1)').catch(() => {});
    return 'stored';
  });
  await expect(ended).rejects.toThrow(/COMMIT.*ROLLBACK/);
  await inTransaction(database, (client) => client.query('insert into kept values (2)'));
  expect((await database.pool.query('select id from kept')).rows).toEqual([{ id: 2 }]);
  expect(database.pool.totalCount).toBe(1);
});

it('points dropped by a trigger fail a commit and an import after a bounded number of attempts', async () => {
  const { database } = await openOwnStore();
  const startMs = Date.UTC(2024, 0, 1);
  const window = { startMs, endMs: startMs + hourMs };
  const series = market('bitcoin', 'm1');
  const rows = [1, 2].map((count) => {
    const value = decimalText(String(count));
    const period = startMs + count * minuteMs;
    return { open: value, high: value, low: value, close: value, volume: value, period };
  });
  const { seriesId } = await trackSeries(database, series, window.startMs, window.endMs);
  const usual = { seriesId, series, window, nowMs: Date.now(), graceMs: 0 };
  const commit = (count: number) =>
    commitWindow(database, {
      ...{ ...usual, lane: 'backfill', attempt: 1, emptyConfirmMs: hourMs },
      answer: answerOf(rows.slice(0, count), usual.nowMs),
    });
  await commit(1);
  await database.pool.query(`
    create function dropped() returns trigger language plpgsql as 'begin return null; end';
    create trigger dropped before insert on tidemark.candle_points for each row execute function dropped()`);
  await expect(commit(2)).rejects.toThrow(/trigger drops them/);
  const piece = storePiece(database, {
    ...{ ...usual, rows, refused: [], overwrite: false },
    ...{ covered: [window], confirmedEmpty: [], beforeBeginning: [] },
  } as Parameters<typeof storePiece>[1]);
  await expect(piece).rejects.toThrow(/trigger drops them/);
});
