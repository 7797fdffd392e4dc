import { beforeAll, expect, it } from 'vitest';
import { dayMs, graceMs, hourMs, periodStart, weekMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import { deferWindow } from '../../../store/commit/deferred-windows.ts';
import { listGaps } from '../../../store/series/gaps.ts';
import { blockSeries, trackSeries, untrackSeries } from '../../../store/series/series.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  const { database } = store;
  const endMs = startMs + dayMs;
  const nowMs = startMs + 2 * dayMs;
  const hours = { startMs, endMs, prices: Array<string>(24).fill('1') };
  expect(await storeLine(database, { key: market('whole', 'h1'), ...hours })).toBe(1);
  const torn = await storeLine(database, {
    ...{ key: market('torn', 'h1'), ...hours },
    covered: [
      [2, 10],
      [12, 18],
    ],
  });
  await deferWindow(database.pool, {
    ...{
      seriesId: torn,
      source: defaultSource,
      window: { startMs: startMs + 10 * hourMs, endMs: startMs + 11 * hourMs },
    },
    ...{ reason: 'failed', message: '503', attempts: 5, nowMs, retryAtMs: nowMs + hourMs },
  });
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     values ($1, '[2024-01-01 18:00Z,2024-01-01 20:00Z)', 'awaiting', 'no points', '2024-01-02Z', '2024-01-02 01:00Z')`,
    [torn],
  );
  const coin = { dataset: 'asset_history', assetId: 'coin', interval: 'h1' } as const;
  const blocked = await storeLine(database, { key: coin, ...hours, prices: hours.prices.slice(0, 6) });
  const untilMs = Math.floor(Date.now() / 1000) * 1000 + dayMs;
  await blockSeries(database, { seriesId: blocked, source: defaultSource, kind: 'x', message: 'no', untilMs });
  // Open-ended, by weeks, so that the present place within its period does not matter.
  const weeks = { key: market('weeks', 'w1'), startMs: periodStart(Date.now() - graceMs, 'w1') - 3 * weekMs };
  await storeLine(database, { ...weeks, endMs: null, prices: ['1', '2'] });
  const { seriesId: gone } = await trackSeries(database, market('gone', 'h1'), startMs, endMs);
  await untrackSeries(database, gone, endMs);
  await trackSeries(database, market('future', 'w1'), Date.now() + 2 * weekMs, null);
});

it('lists the same gaps as `tidemark gaps` does', async () => {
  const listed = await listGaps(store.database, { nowMs: Date.now(), graceMs });
  const millis = (time: string) => `(extract(epoch from ${time}) * 1000)::bigint`;
  const shown = await rows(
    `select series_id, ${millis('from_time')}, ${millis('to_time')}, reason, message, ${millis('retry_at')}
     from gaps order by series_id, from_time`,
  );
  expect(new Set(listed.map((gap) => gap.reason))).toEqual(
    new Set(['not_asked', 'failed', 'awaits_second_answer', 'blocked']),
  );
  expect(shown).toEqual(
    listed.map(({ seriesId, startMs, endMs, reason, message, retryAtMs }) =>
      [seriesId, startMs, endMs, reason, message ?? '-', retryAtMs ?? '-'].join(' | '),
    ),
  );
});

it('lists each series with its covered share and its missing ranges', async () => {
  expect(
    await rows(
      `select dataset, exchange, base, quote, asset, interval, share, gaps, untracked_at is not null,
              (select sum(upper(r) - lower(r)) from unnest(missing) r) from coverage order by series_id`,
    ),
  ).toEqual([
    'candles | x | whole | tether | - | h1 | 1 | 0 | f | -',
    'candles | x | torn | tether | - | h1 | 0.583333 | 3 | f | 10:00:00',
    'asset_history | - | - | - | coin | h1 | 0.25 | 1 | f | 18:00:00',
    'candles | x | weeks | tether | - | w1 | 0.666666 | 1 | f | 7 days',
    'candles | x | gone | tether | - | h1 | 0 | 1 | t | 1 day',
    'candles | x | future | tether | - | w1 | - | 0 | f | -',
  ]);
});
