import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../../store/db/database.ts';
import { refreshRollups } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { openTestStore, type TestStore } from '../open-store.ts';
import { markBehind, market } from './candles.ts';

interface Node {
  readonly 'Relation Name'?: string;
  readonly 'Actual Loops': number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Node[];
}

/** 120 days of minutes of two markets: five chunks of points, and their rollups. */
describeNeeding('timescale', 'a query of candles by names', () => {
  let store: TestStore;
  let database: Database;
  const ids: number[] = [];
  beforeAll(async () => {
    store = await openTestStore();
    database = store.database;
    for (const base of ['a', 'b']) {
      const { seriesId } = await trackSeries(database, market(base, 'm1'), Date.UTC(2024, 0, 1), null);
      ids.push(seriesId);
      await database.pool.query(
        `insert into tidemark.candle_points
         select $1, time, 1.5, 2.25, 1, 1.75, 10
         from generate_series('2024-01-01'::timestamptz, '2024-04-30', '1 minute') time`,
        [seriesId],
      );
      await markBehind(database, seriesId);
    }
    await refreshRollups(database, { nowMs: Date.UTC(2024, 6, 1) });
    await database.pool.query('analyze');
  });
  afterAll(() => store.close());

  const planOf = async (sql: string): Promise<Node> => {
    const result = await database.pool.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `explain (analyze, buffers, timing off, format json) ${sql}`,
    );
    const plan = result.rows[0]?.['QUERY PLAN'][0].Plan;
    if (plan === undefined) throw new Error('no plan');
    return plan;
  };
  const pages = (plan: Node) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  const nodes = (plan: Node): Node[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
  /** The hypertables of the chunks in the plan. */
  const chunksIn = async (plan: Node) => {
    const names = nodes(plan).flatMap((node) => node['Relation Name'] ?? []);
    const result = await database.pool.query<{ of: string; starts: number }>(
      `select hypertable_name as of, range_start as starts
       from timescaledb_information.chunks
       where chunk_name = any ($1) order by 1, 2`,
      [names],
    );
    return result.rows;
  };
  const named = `exchange = 'x' and base = 'a' and quote = 'tether'`;
  const march = `time >= '2024-03-01' and time < '2024-03-11'`;

  it.each([
    ['a range', `select time, close from SOURCE and ${march}`],
    ['all columns', `select time, open, high, low, close, volume from SOURCE and ${march}`],
    ['an aggregate', `select count(*), max(high) from SOURCE and ${march}`],
    ['everything', 'select time, close from SOURCE'],
  ])('reads the same chunks as one by id, and at most a tenth more pages: %s', async (_, sql) => {
    const byId = await planOf(sql.replace('SOURCE', `tidemark.candle_points where series_id = ${ids[0]}`));
    const byName = await planOf(sql.replace('SOURCE', `candles where ${named} and interval = 'm1'`));
    expect(pages(byId)).toBeGreaterThan(100);
    expect(pages(byName)).toBeLessThan(1.1 * pages(byId));
    expect(await chunksIn(byName)).toEqual(await chunksIn(byId));
  });

  it('reads the chunks of its range by series, and only the requested part of rollups', async () => {
    const all = await planOf(`select * from candles where ${named} and interval = 'm1'`);
    expect(await chunksIn(all)).toHaveLength(5);
    const plan = await planOf(`select * from candles where ${named} and interval = 'h4' and ${march}`);
    const chunks = await chunksIn(plan);
    expect([...new Set(chunks.map((chunk) => chunk.of))]).toContain('rollup_hours');
    const read = nodes(plan).filter(
      (node) => node['Actual Loops'] > 0 && node['Relation Name']?.startsWith('_hyper_'),
    );
    expect(new Set((await chunksIn({ ...plan, Plans: read })).map((chunk) => chunk.of))).toEqual(
      new Set(['rollup_hours']),
    );
    for (const node of nodes(plan)) {
      if (!node['Relation Name']?.startsWith('_hyper_')) continue;
      const isBySeries = JSON.stringify(node).includes('series_id =');
      expect(isBySeries, node['Relation Name']).toBe(true);
    }
  });

  it('for the newest candle of each series reads the newest chunk alone', async () => {
    await database.pool.query(`update tidemark.series set newest = '2024-04-30'`);
    const plan = await planOf('select exchange, base, quote, time, close from latest_candles');
    const read = nodes(plan).filter(
      (node) => node['Actual Loops'] > 0 && node['Relation Name']?.includes('_chunk'),
    );
    const newest = await database.pool.query<{ chunk_name: string }>(
      `select chunk_name from timescaledb_information.chunks where hypertable_name = 'candle_points'
       order by range_start desc limit 1`,
    );
    expect([...new Set(read.map((node) => node['Relation Name']))]).toEqual([newest.rows[0]?.chunk_name]);
    expect(pages(plan)).toBeLessThan(50);
  });

  it('does not plan levels that it does not request', async () => {
    const plan = JSON.stringify(await planOf(`select * from candles where ${named} and interval = 'w1'`));
    expect(plan).toContain('168:00:00');
    expect(plan).not.toContain('08:00:00');
    const other = JSON.stringify(await planOf(`select * from candles where ${named} and interval = 'h8'`));
    expect(other).toContain('08:00:00');
    expect(other).not.toContain('168:00:00');
  });
});
