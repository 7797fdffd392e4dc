import { beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { refreshRollups } from '../../../store/upkeep/refresh-rollups.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { useStore } from '../../store/open-store.ts';
import { nodesOf, type PlanNode, planOf } from '../../store/plan.ts';
import { markBehind, market } from './candles.ts';
import { storeLine } from './price-line.ts';

/** 120 days of minutes of two markets: five chunks of points, and their rollups. */
describeNeeding('timescale', 'a query of candles by names', () => {
  const store = useStore();
  const ids: number[] = [];
  beforeAll(async () => {
    const { database } = store;
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
    await refreshRollups(database, { clock: systemClock, nowMs: Date.UTC(2024, 6, 1) });
    await database.pool.query('analyze');
  });

  const plan = (sql: string) => planOf(store.database, sql);
  const pages = (of: PlanNode) => of['Shared Hit Blocks'] + of['Shared Read Blocks'];
  const isOfChunk = (node: PlanNode) => node['Relation Name']?.startsWith('_hyper_') ?? false;
  const isRead = (node: PlanNode) => node['Actual Loops'] > 0 && isOfChunk(node);
  /** The hypertables of the chunks in some nodes. */
  const chunksIn = async (nodes: readonly PlanNode[]) => {
    const result = await store.database.pool.query<{ of: string; starts: number }>(
      `select hypertable_name as of, range_start as starts
       from timescaledb_information.chunks
       where chunk_name = any ($1) order by 1, 2`,
      [nodes.flatMap((node) => node['Relation Name'] ?? [])],
    );
    return result.rows;
  };
  const named = (interval: string) =>
    `candles where exchange = 'x' and base = 'a' and quote = 'tether' and interval = '${interval}'`;
  const march = `time >= '2024-03-01' and time < '2024-03-11'`;

  it.each([
    ['a range', `select time, close from SOURCE and ${march}`],
    ['everything', 'select time, close from SOURCE'],
  ])('reads the same chunks as one by id, and at most a tenth more pages: %s', async (_, sql) => {
    const byId = await plan(sql.replace('SOURCE', `tidemark.candle_points where series_id = ${ids[0]}`));
    const byName = await plan(sql.replace('SOURCE', named('m1')));
    expect(pages(byId)).toBeGreaterThan(100);
    expect(pages(byName)).toBeLessThan(1.1 * pages(byId));
    expect(await chunksIn(nodesOf(byName))).toEqual(await chunksIn(nodesOf(byId)));
  });

  it('for the newest candle of each series reads the newest chunk alone', async () => {
    await store.database.pool.query(`update tidemark.series set newest = '2024-04-30'`);
    const newest = await plan('select exchange, base, quote, time, close from latest_candles');
    const all = await chunksIn(nodesOf(await plan(`select * from ${named('m1')}`)));
    expect(await chunksIn(nodesOf(newest).filter(isRead))).toEqual(all.slice(-1));
    expect(pages(newest)).toBeLessThan(50);
  });

  it('reads of each market of days only its rows, in a chunk that is full of minutes', async () => {
    const { database } = store;
    const range = { startMs: Date.UTC(2024, 5, 1), endMs: Date.UTC(2024, 5, 29) };
    const prices = Array<string>(28).fill('1.5');
    for (let place = 0; place < 20; place += 1)
      await storeLine(database, { key: market(`d${place}`, 'd1'), ...range, prices });
    const minutes = await Promise.all(
      ['e', 'f', 'g', 'h', 'i'].map((base) => trackSeries(database, market(base, 'm1'), range.startMs, null)),
    );
    // Fetched at once, so that rows of a series do not lie together.
    await database.pool.query(
      `insert into tidemark.candle_points
       select id, time, 1.5, 2.25, 1, 1.75, 10
       from generate_series('2024-06-01'::timestamptz, '2024-06-14', '1 minute') time, unnest($1::integer[]) id
       order by md5(id || ' ' || time)`,
      [minutes.map(({ seriesId }) => seriesId)],
    );
    await database.pool.query('analyze');
    const panel = `from candles where interval = 'd1' and time >= '2024-06-02' and derived_from is null`;
    const { rows } = await database.pool.query<{ count: number }>(`select count(*) ${panel}`);
    expect(rows).toEqual([{ count: 20 * 27 }]);
    expect(pages(await plan(`select * ${panel}`))).toBeLessThan(1000);
  });
});
