import { beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { maxAggregated, readChartPoints } from '../../../dashboard/queries/points.ts';
import { dayMs, type EpochMs, hourMs, type Interval, intervalMs, minuteMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import type { Database } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { refreshRollups } from '../../../store/upkeep/refresh-rollups.ts';
import { markBehind, market } from '../../schema/api/candles.ts';
import { useStore } from '../../store/open-store.ts';

const minutes = market('bitcoin', 'm1');
const prices: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'm1' };
const startMs = Date.UTC(2024, 0, 1);
const days = 200;
const endMs = startMs + days * dayMs;
const range = { startMs, endMs };

/** One value a minute for two hundred days: 288,000. */
async function filled(database: Database, series: SeriesKey): Promise<number> {
  const { seriesId } = await trackSeries(database, series, startMs, endMs);
  const [table, values] =
    series.dataset === 'candles'
      ? ['candle_points', `n || '.10', n || '.90', n || '.05', n || '.50', '1.5'`]
      : ['asset_history_points', `n || '.50'`];
  await database.pool.query(
    `insert into tidemark.${table}
     select $1, to_timestamp($2) + n * interval '1 minute', ${values.replaceAll(/(n \|\| )?'[\d.]+'/g, '($&)::numeric')}
     from generate_series(0, $3::integer - 1) n`,
    [seriesId, startMs / 1000, (endMs - startMs) / minuteMs],
  );
  await markBehind(database, seriesId);
  return seriesId;
}

const lastOf = (interval: Interval, place: number) => `${((place + 1) * intervalMs[interval]) / minuteMs - 1}.50`;

const store = useStore();
let database: Database;
beforeAll(async () => {
  ({ database } = store);
});

it('returns candles, stored or derived up to the limit on points, every digit as text', async () => {
  const seriesId = await filled(database, minutes);
  const read = (interval: 'm1' | 'd1', endMs: EpochMs) =>
    readChartPoints(database, { seriesId, series: minutes, interval, range: { startMs, endMs } });
  expect(await read('m1', startMs + 2 * minuteMs)).toEqual({
    ...{ kind: 'candles', names: ['open', 'high', 'low', 'close', 'volume'], sampled: false },
    rows: [
      [startMs, '0.10', '0.90', '0.05', '0.50', '1.5'],
      [startMs + minuteMs, '1.10', '1.90', '1.05', '1.50', '1.5'],
    ],
  });
  const made = await read('d1', startMs + 10 * dayMs);
  expect(made).toMatchObject({ kind: 'candles', sampled: false });
  expect(made.rows).toHaveLength(10);
  expect(made.rows[1]).toEqual([startMs + dayMs, '1440.10', '2879.90', '1440.05', '2879.50', '2160.0']);

  // Nothing is rolled up yet: all candles would be derived from 288,000 points.
  expect((days * dayMs) / minuteMs).toBeGreaterThan(maxAggregated);
  const sampled = await read('d1', endMs);
  expect(sampled).toMatchObject({ kind: 'line', sampled: true });
  expect(sampled.rows.map(([, value]) => value)).toEqual(
    Array.from({ length: days }, (_, place) => lastOf('d1', place)),
  );
  await refreshRollups(database, { clock: systemClock, nowMs: Date.now() });
  const whole = await read('d1', endMs);
  expect(whole).toMatchObject({ kind: 'candles', sampled: false });
  expect(whole.rows).toHaveLength(days);
  expect(whole.rows[1]).toEqual(made.rows[1]);
});

it('samples a history with more points than the limit', async () => {
  const seriesId = await filled(database, prices);
  const points = await readChartPoints(database, { seriesId, series: prices, interval: 'd1', range });
  expect(points).toMatchObject({ kind: 'line', sampled: true });
  expect(points.rows.map(([, value]) => value)).toEqual(points.rows.map((_, at) => lastOf('d1', at)));
});

it('sums events by period, with the rate of a year where the time of each is known', async () => {
  const funding: SeriesKey = { ...minutes, dataset: 'funding_rates', interval: 'h1', quoteId: 'tether:tether' };
  const { seriesId } = await trackSeries(database, funding, startMs, endMs);
  // Events at 8, 16 and 24 h state no interval, the fourth states one; before the second one a part is not covered.
  await database.pool.query(
    `insert into tidemark.funding_rate_points (series_id, time, rate, interval_hours)
     select $1, to_timestamp($2) + hours * interval '1 hour', rate, stated
     from (values (8, 0.0001, null), (16, 0.0002, null), (24, -0.0004, null), (28, 0.0001, 4)) e (hours, rate, stated)`,
    [seriesId, startMs / 1000],
  );
  const covered = `{[${new Date(startMs + 12 * hourMs).toISOString()}, ${new Date(endMs).toISOString()})}`;
  await database.pool.query('update tidemark.series set covered = $2 where id = $1', [seriesId, covered]);
  const read = async (interval: Interval) =>
    await readChartPoints(database, { seriesId, series: funding, interval, range });
  const at = (hours: number) => startMs + hours * hourMs;
  expect(await read('h1')).toEqual({
    ...{ kind: 'bars', names: ['rate', 'annual_rate'], sampled: false },
    rows: [
      [at(8), '0.0001', null],
      [at(16), '0.0002', null],
      [at(24), '-0.0004', '-0.438'],
      [at(28), '0.0001', '0.219'],
    ],
  });
  expect((await read('d1')).rows).toEqual([
    [at(0), '0.0003', null],
    [at(24), '-0.0003', '-0.219'],
  ]);
});
