import { expect, it } from 'vitest';
import type { CandleInterval } from '../../../model/datasets/candles.ts';
import { dayMs, hourMs, intervalMs, minuteMs } from '../../../model/intervals.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries, untrackSeries } from '../../../store/series/series.ts';
import { candles, expectRollupsToAgree, market, put } from '../../schema/api/candles.ts';
import { useStore } from '../open-store.ts';

/** A Wednesday, so that weeks begin within the range. */
const startMs = Date.UTC(2024, 0, 3, 5);

const store = useStore();
const track = async (base: string, interval: CandleInterval, endMs: number | null = null) =>
  (await trackSeries(store.database, market(base, interval), startMs, endMs)).seriesId;
const query = async (sql: string, ...values: unknown[]) => (await store.database.pool.query(sql, values)).rows;

it('rollups hold the values of the points at every level, to the last zero', async () => {
  const seriesId = await track('digits', 'm1', startMs + 20 * dayMs);
  await put(store.database, seriesId, candles(startMs, 7 * minuteMs, 3000));
  await expectRollupsToAgree(store.database);
  expect(await query('select time from tidemark.rollup_w1 where series_id = $1 order by 1', seriesId)).toEqual(
    [1, 8, 15].map((day) => ({ time: Date.UTC(2024, 0, day) })),
  );
});

it('rollups answer intervals without a series from the finest one whose periods divide them', async () => {
  for (const interval of ['m30', 'h8'] as const) {
    const everyMs = intervalMs[interval];
    const seriesId = await track('two', interval, startMs + 10 * dayMs);
    await put(store.database, seriesId, candles(startMs - (startMs % everyMs), everyMs, 20));
  }
  const answers = await query(
    `select interval, derived_from, sum(points)::int as points from candles
     where exchange = 'x' and base = 'two' and quote = 'tether' group by 1, 2`,
  );
  expect(new Map(answers.map((row) => [row.interval, `${row.derived_from} ${row.points}`]))).toEqual(
    new Map([
      ...['m30', 'h8'].map((interval) => [interval, 'null null'] as const),
      ...['h1', 'h2', 'h4', 'h6', 'h12', 'd1', 'w1'].map((interval) => [interval, 'm30 20'] as const),
    ]),
  );
});

it('rollups are not hidden by an empty series', async () => {
  await put(store.database, await track('oops', 'h1', startMs + 10 * dayMs), candles(startMs, hourMs, 48));
  const days = async () => {
    const [counts] = await query(
      `select (select count(*)::int from candles where exchange = 'x' and base = 'oops' and interval = 'd1') as view,
              (select count(close)::int from ohlcv('x', 'oops', 'tether', 'd1', $1, $2)) as named`,
      ...[startMs, startMs + 10 * dayMs].map(timestamp),
    );
    return counts;
  };
  expect(await days()).toEqual({ view: 3, named: 2 });
  const mistake = await track('oops', 'd1');
  expect(await days()).toEqual({ view: 0, named: 0 });
  await untrackSeries(store.database, mistake, startMs);
  expect(await days()).toEqual({ view: 3, named: 2 });
});

it('rollups prefer the longest coverage, and among equals the finest', async () => {
  for (const [base, interval, days] of [
    ['late', 'm1', 10],
    ['late', 'h1', 100],
    ['late', 'h8', 1000],
    ['even', 'm1', 99.5],
    ['even', 'h1', 100],
  ] as const)
    await query(
      'update tidemark.series set covered = tstzmultirange(tstzrange($2, $3)) where id = $1',
      ...[await track(base, interval), timestamp(startMs), timestamp(startMs + days * dayMs)],
    );
  const chosen = await query(
    `select base_id || ' ' || interval || ' from ' || derived_from as one from tidemark.derived_series
     where base_id in ('late', 'even') and interval in ('m30', 'h1', 'h4', 'h12', 'd1')`,
  );
  expect(new Set(chosen.map(({ one }) => one))).toEqual(
    new Set([
      ...['even m30 from m1', 'even h4 from m1', 'even h12 from m1', 'even d1 from m1'],
      ...['late m30 from m1', 'late h4 from h1', 'late h12 from h1', 'late d1 from h8'],
    ]),
  );
});
