import { afterAll, beforeAll, expect, it } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { type EpochMs, hourMs } from '../../../contract/intervals.ts';
import type { HistorySeries } from '../../../contract/series.ts';
import { commitWindow } from '../../../store/commit/commit-windows.ts';
import type { WindowCommit } from '../../../store/commit/prepare-window.ts';
import { timestamp } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';
import { market } from './candles.ts';
import { ask } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const day = (date: number) => Date.UTC(2024, 1, date);
const window = { startMs, endMs: startMs + 4 * hourMs };

onEachDatabase('revisions', (kind) => {
  let store: TestStore;
  const candles = market('a', 'h1');
  const history: HistorySeries = { dataset: 'asset_history', assetId: 'coin', interval: 'h1' };
  beforeAll(async () => {
    store = await openTestStore(kind);
    for (const series of [candles, history]) {
      const { seriesId } = await trackSeries(store.database, series, window.startMs, window.endMs);
      await store.database.pool.query('update tidemark.series set created_at = $2 where id = $1', [
        seriesId,
        timestamp(day(1)),
      ]);
      // First seen on the 1st of February; hour 1 changes on the 5th and the 9th, hour 2 on the 9th.
      const seen: [EpochMs, string[]][] = [
        [day(1), ['1.10', '2.20', '3.30', '4.40']],
        [day(5), ['1.10', '2.250', '3.30', '4.40']],
        [day(9), ['1.10', '2.3', '3.35', '4.40']],
      ];
      for (const [nowMs, values] of seen) {
        const rows = values.map((text, hour) => {
          const value = decimalText(text);
          const time = startMs + hour * hourMs;
          return series.dataset === 'candles'
            ? {
                open: value,
                high: value,
                low: value,
                close: value,
                volume: decimalText('1.0'),
                period: time,
              }
            : { priceUsd: value, time };
        });
        const answer = { rows, rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 0, durationMs: 0 };
        await commitWindow(store.database, {
          seriesId,
          series,
          window,
          lane: 'backfill',
          attempt: 1,
          answer,
          nowMs,
          graceMs: 60_000,
          emptyConfirmMs: hourMs,
        } as WindowCommit);
      }
    }
  });
  afterAll(() => store.close());

  const known = async (at: string, more = '') => {
    const columns = `close, to_char(changed_at, 'DD'), coverage`;
    const ofMarket = await ask(
      store.url,
      `select ${columns} from candles_as_known_at('x', 'a', 'tether', 'h1', '${at}'${more})`,
      'UTC',
    );
    const ofAsset = await ask(
      store.url,
      `select ${columns.replace('close', 'price_usd')} from history_as_known_at('coin', 'h1', '${at}'${more})`,
      'UTC',
    );
    expect(ofAsset).toEqual({ ...ofMarket, notices: ofAsset.notices });
    return ofMarket;
  };

  it('returns each value as it was, digit by digit, and when it changed next', async () => {
    expect((await known('2024-02-03Z')).rows).toEqual([
      '1.10 | - | 1',
      '2.20 | 05 | 1',
      '3.30 | 09 | 1',
      '4.40 | - | 1',
    ]);
    expect((await known('2024-02-07Z')).rows).toEqual([
      '1.10 | - | 1',
      '2.250 | 09 | 1',
      '3.30 | 09 | 1',
      '4.40 | - | 1',
    ]);
    expect((await known('2024-02-20Z')).rows).toEqual([
      '1.10 | - | 1',
      '2.3 | - | 1',
      '3.35 | - | 1',
      '4.40 | - | 1',
    ]);
    // A change is known from the time of its observation.
    expect((await known('2024-02-05Z')).rows[1]).toBe('2.250 | 09 | 1');
  });

  it('leaves out periods that had not ended, and reports when nothing was stored yet', async () => {
    const early = await known('2024-01-01 02:30Z');
    expect(early.rows).toEqual(['1.10 | - | 1', '2.20 | 05 | 1']);
    expect(early.notices[0]).toMatch(
      /^nothing of the series was stored at 2024-01-01 02:30:00\+00: it is tracked since 2024-02-01/,
    );
    expect((await known('2024-01-01 00:30Z')).rows).toEqual([]);
    expect((await known('2023-01-01Z')).rows).toEqual([]);
    expect((await known('infinity')).rows).toHaveLength(4);
    await expect(ask(store.url, `select * from history_as_known_at('coin', 'h1', null)`)).rejects.toThrow(
      /must be given/,
    );
    expect((await known('2024-02-03Z', `, '2024-01-01 01:00Z', '2024-01-01 02:00Z'`)).rows).toEqual([
      '2.20 | 05 | 1',
    ]);
    expect((await known('2024-02-03Z', `, '2024-01-01 03:00Z', '2024-01-01 05:00Z'`)).rows).toEqual([
      '4.40 | - | 1',
      '- | - | 0',
    ]);
  });

  it('derives longer intervals from the values of then', async () => {
    const twoHours = async (at: string) => {
      const columns = `to_char(changed_at, 'DD'), coverage`;
      const candles = `candles_as_known_at('x', 'a', 'tether', 'h2', '${at}')`;
      const prices = `history_as_known_at('coin', 'h2', '${at}')`;
      return [
        (await ask(store.url, `select open, high, low, close, volume, ${columns} from ${candles}`, 'UTC'))
          .rows,
        (await ask(store.url, `select price_usd, ${columns} from ${prices}`, 'UTC')).rows,
      ];
    };
    expect(await twoHours('2024-02-03Z')).toEqual([
      ['1.10 | 2.20 | 1.10 | 2.20 | 2.0 | 05 | 1', '3.30 | 4.40 | 3.30 | 4.40 | 2.0 | 09 | 1'],
      ['1.10 | - | 1', '3.30 | 09 | 1'],
    ]);
    expect(await twoHours('2024-02-07Z')).toEqual([
      ['1.10 | 2.250 | 1.10 | 2.250 | 2.0 | 09 | 1', '3.30 | 4.40 | 3.30 | 4.40 | 2.0 | 09 | 1'],
      ['1.10 | - | 1', '3.30 | 09 | 1'],
    ]);
    expect(await twoHours('2024-02-20Z')).toEqual([
      ['1.10 | 2.3 | 1.10 | 2.3 | 2.0 | - | 1', '3.35 | 4.40 | 3.35 | 4.40 | 2.0 | - | 1'],
      ['1.10 | - | 1', '3.35 | - | 1'],
    ]);
    // The second period had not ended.
    expect((await twoHours('2024-01-01 03:30Z')).map((rows) => rows.length)).toEqual([1, 1]);
  });

  it('shows each change with names, before and after', async () => {
    const { rows } = await ask(
      store.url,
      `select dataset, exchange, base, asset, interval, to_char(time, 'HH24'), to_char(seen_at, 'DD'),
                coalesce(before ->> 'close', before ->> 'price_usd'), coalesce(after ->> 'close', after ->> 'price_usd')
         from revisions order by dataset, time, seen_at`,
      'UTC',
    );
    const changes = ['01 | 05 | 2.20 | 2.250', '01 | 09 | 2.250 | 2.3', '02 | 09 | 3.30 | 3.35'];
    expect(rows).toEqual([
      ...changes.map((change) => `asset_history | - | - | coin | h1 | ${change}`),
      ...changes.map((change) => `candles | x | a | - | h1 | ${change}`),
    ]);
  });
});
