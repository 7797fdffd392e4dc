import { expect, it, onTestFinished } from 'vitest';
import { dayMs, type Interval, intervalMs, minuteMs } from '../../../contract/intervals.ts';
import type { SeriesKey } from '../../../contract/series.ts';
import { maxAggregated, readChartPoints, sampleStatement } from '../../../store/dashboard/points.ts';
import type { Database } from '../../../store/db/database.ts';
import { refreshRollups } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { onEachDatabase, openTestStore } from '../open-store.ts';
import { markBehind } from '../views/candles.ts';

const minutes: SeriesKey = {
  dataset: 'candles',
  exchange: 'kraken',
  baseId: 'bitcoin',
  quoteId: 'euro',
  interval: 'm1',
};
const prices: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'm1' };
const startMs = Date.UTC(2024, 0, 1);
const days = 200;
const endMs = startMs + days * dayMs;
const range = { startMs, endMs };

/** One value a minute for two hundred days, in twenty chunks: 288,000. */
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

async function opened(on: 'main' | 'plain'): Promise<Database> {
  const store = await openTestStore(on);
  onTestFinished(() => store.close());
  if (on === 'main') {
    // Ten days a chunk, so that there are chunks to exclude.
    for (const table of ['candle_points', 'asset_history_points'])
      await store.database.pool.query(
        `select set_chunk_time_interval('tidemark.${table}', interval '10 days')`,
      );
  }
  return store.database;
}

const lastOf = (interval: Interval, place: number) =>
  `${((place + 1) * intervalMs[interval]) / minuteMs - 1}.50`;

onEachDatabase('points for a chart', (on) => {
  it("returns stored points at the series' own interval, every digit as text", async () => {
    const database = await opened(on);
    const seriesId = await filled(database, minutes);
    const asked = {
      seriesId,
      series: minutes,
      interval: 'm1',
      range: { startMs, endMs: startMs + 2 * minuteMs },
    } as const;
    expect(await readChartPoints(database, asked)).toEqual({
      kind: 'candles',
      sampled: false,
      rows: [
        [startMs, '0.10', '0.90', '0.05', '0.50', '1.5'],
        [startMs + minuteMs, '1.10', '1.90', '1.05', '1.50', '1.5'],
      ],
    });
  });

  it('derives coarser candles, up to the limit on points', async () => {
    const database = await opened(on);
    const seriesId = await filled(database, minutes);
    const few = { startMs, endMs: startMs + 10 * dayMs };
    const asked = { seriesId, series: minutes, interval: 'd1' } as const;
    const made = await readChartPoints(database, { ...asked, range: few });
    expect(made).toMatchObject({ kind: 'candles', sampled: false });
    expect(made.rows).toHaveLength(10);
    expect(made.rows[1]).toEqual([startMs + dayMs, '1440.10', '2879.90', '1440.05', '2879.50', '2160.0']);

    // Nothing is rolled up yet: all candles would be derived from 288,000 points.
    expect((days * dayMs) / minuteMs).toBeGreaterThan(maxAggregated);
    const sampled = await readChartPoints(database, { ...asked, range });
    expect(sampled).toMatchObject({ kind: 'line', sampled: true });
    expect(sampled.rows).toHaveLength(days);
    expect(sampled.rows.map(([, value]) => value)).toEqual(
      sampled.rows.map((_, place) => lastOf('d1', place)),
    );
    await refreshRollups(database, { nowMs: Date.now() });
    const whole = await readChartPoints(database, { ...asked, range });
    expect(whole).toMatchObject({ kind: 'candles', sampled: false });
    expect(whole.rows).toHaveLength(days);
    expect(whole.rows[1]).toEqual(made.rows[1]);

    // A commit makes a day await a refresh: it comes from points again.
    await database.pool.query(
      `update tidemark.candle_points set close = 7.70 where series_id = $1 and time = to_timestamp($2)`,
      [seriesId, (startMs + 2 * dayMs - minuteMs) / 1000],
    );
    await database.pool.query(
      `update tidemark.series set rollups_behind = tstzmultirange(tstzrange(to_timestamp($2), to_timestamp($3))) where id = $1`,
      [seriesId, (startMs + dayMs) / 1000, (startMs + 2 * dayMs) / 1000],
    );
    const after = await readChartPoints(database, { ...asked, range });
    expect(after).toMatchObject({ kind: 'candles', sampled: false });
    expect(after.rows[1]?.[4]).toBe('7.70');
    expect(after.rows.filter((_, place) => place !== 1)).toEqual(
      whole.rows.filter((_, place) => place !== 1),
    );
  });

  it('samples a history by one lookup each, however many points there are', async () => {
    const database = await opened(on);
    const seriesId = await filled(database, prices);
    await database.pool.query('analyze tidemark.asset_history_points');
    const points = await readChartPoints(database, { seriesId, series: prices, interval: 'd1', range });
    expect(points).toMatchObject({ kind: 'line', sampled: true });
    expect(points.rows.map(([, value]) => value)).toEqual(points.rows.map((_, at) => lastOf('d1', at)));

    const plan = await database.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, format json, costs off, timing off) ${sampleStatement('asset_history').text}`,
      [seriesId, new Date(startMs).toISOString(), dayMs / 1000, days],
    );
    const nodes = nodesOf(plan.rows[0]?.['QUERY PLAN'][0].Plan);
    const scans = nodes.filter((node) => node['Relation Name'] !== undefined && node.Plans === undefined);
    expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    // One row of each period, from its own chunk only.
    const read = scans.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);
    expect(read).toBe(days);
    const looked = scans.reduce((sum, node) => sum + node['Actual Loops'], 0);
    expect(looked).toBeLessThanOrEqual(2 * days);
  });
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode | undefined): PlanNode[] {
  return node === undefined ? [] : [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
