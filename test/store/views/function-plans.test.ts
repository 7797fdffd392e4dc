import { beforeAll, expect, it } from 'vitest';
import { dayMs } from '../../../contract/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { onEachDatabase, openOwnStore, useStore } from '../open-store.ts';
import { market } from './candles.ts';
import { rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2023, 0, 1);
const days = 700;

/** The statements with constants that the functions run. */
const statements = [
  `tidemark.ohlcv_statement('x', 'b', 'tether', 'h1', '2024-03-01Z', '2024-03-02Z', false)`,
  `tidemark.ohlcv_statement('x', 'b', 'tether', 'h1', '2024-03-01Z', '2024-03-02Z', true)`,
  `tidemark.prices_statement('x b/tether', 'h1', '2024-03-01Z', '2024-03-02Z', false)`,
  `tidemark.vwap_statement('x', 'b', 'tether', 'h1', '2024-03-01Z', '2024-03-02Z', null)`,
];

onEachDatabase('plans', (kind) => {
  const store = useStore(kind);
  const rows = rowsIn(store);
  let seriesId: number;
  beforeAll(async () => {
    const prices = Array<string>(days * 24).fill('1.5');
    for (const base of ['a', 'b', 'c']) {
      const range = { startMs, endMs: startMs + days * dayMs };
      const id = await storeLine(store.database, { key: market(base, 'h1'), ...range, prices });
      if (base === 'b') seriesId = id;
    }
    await store.database.pool.query('analyze tidemark.candle_points');
  });

  const explained = async (sql: string) => (await rows(`explain (costs off) ${sql}`)).join('\n');
  const planOfCall = async (call: string) => explained((await rows(`select ${call}`))[0] ?? '');

  it.each(statements)('%s reads its series by the index, and only its range', async (call) => {
    const plan = await planOfCall(call);
    expect(plan).toMatch(
      new RegExp(
        `Index Cond: \\(\\(series_id = ${seriesId}\\) AND \\("?time"? >= '2024-03-01 00:00:00\\+00'.*AND \\("?time"? < '2024-03-02 00:00:00\\+00'`,
      ),
    );
    expect(plan.match(/ on (?:_hyper_\w+|candle_points)/g)).toHaveLength(1);
  });

  it.each(['h1', 'h4', 'd1', 'w1'])(
    'has the rows of the view in the function of candles of %s',
    async (interval) => {
      const of = (source: string) =>
        rows(
          `select time, open, high, low, close, volume, derived_from, points from ${source}
         and time >= '2023-02-01' and time < '2023-03-01' order by time`,
        );
      const called = await of(`candles('x', 'b', 'tether', '${interval}') where true`);
      expect(called.length).toBeGreaterThan(3);
      const named = `exchange = 'x' and base = 'b' and quote = 'tether' and interval = '${interval}'`;
      expect(called).toEqual(await of(`candles where ${named}`));
    },
  );
});

describeNeeding('timescale', 'plans on the columnstore', () => {
  it('filter by the segment of the series, and take the bounds of candles() from a row beside it', async () => {
    const store = await openOwnStore();
    const { pool } = store.database;
    const rows = rowsIn(store);
    const range = [startMs, Date.UTC(2023, 2, 1)] as const;
    const bases = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
    for (const base of bases) await trackSeries(store.database, market(base, 'm1'), ...range);
    await pool.query(
      `insert into tidemark.candle_points (series_id, time, open, high, low, close, volume)
       select id, t, 1, 1, 1, 1, extract(minute from t)
       from tidemark.series, generate_series(timestamptz '2023-01-01Z', '2023-03-01Z', '1 minute') t order by 1, 2`,
    );
    await pool.query(`select compress_chunk(c) from show_chunks('tidemark.candle_points') c`);
    await pool.query('vacuum analyze tidemark.candle_points');
    const day = `'2023-01-03Z', '2023-01-04Z'`;
    const [statement] = await rows(`select tidemark.ohlcv_statement('x', 'b', 'tether', 'm1', ${day}, true)`);
    const plan = (await rows(`explain (costs off) ${statement}`)).join('\n');
    expect(plan).toContain('ColumnarScan');
    const { rows: series } = await pool.query(`select id from tidemark.series where base_id = 'b'`);
    const filter = `compress\\w*.*\\n.*(?:Index Cond|Filter): .*series_id = ${series[0].id}\\)`;
    expect(plan).toMatch(new RegExp(filter));
    expect(await rows(`select count(close) from ohlcv('x', 'b', 'tether', 'm1', ${day})`)).toEqual(['1440']);
    const bounded = await pool.query(
      `select c.time, c.volume
       from (select time, ends from ohlcv_by('x', 'b', 'tether', '7 minutes', ${day})
             order by volume limit 1) b,
            candles('x', 'b', 'tether', 'm1', b.time, b.ends) c
       order by c.time`,
    );
    expect(bounded.rows).toHaveLength(7);
  });
});
