import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs } from '../../../contract/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';
import { market } from './candles.ts';
import { ask, storeLine } from './price-line.ts';

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
  let store: TestStore;
  let seriesId: number;
  beforeAll(async () => {
    store = await openTestStore(kind);
    const hourly = Array.from({ length: days * 24 }, () => '1.5');
    for (const base of ['a', 'b', 'c']) {
      const key = market(base, 'h1');
      const id = await storeLine(store.database, {
        key,
        startMs,
        endMs: startMs + days * dayMs,
        prices: hourly,
      });
      if (base === 'b') seriesId = id;
    }
    await store.database.pool.query('analyze tidemark.candle_points');
  });
  afterAll(() => store.close());

  async function planOf(call: string): Promise<string> {
    const { rows } = await ask(store.url, `select ${call}`);
    return (await ask(store.url, `explain (costs off) ${rows[0]}`, 'UTC')).rows.join('\n');
  }

  it.each(statements)('%s reads its series by the index, and only its range', async (call) => {
    const plan = await planOf(call);
    expect(plan).toMatch(
      new RegExp(
        `Index Cond: \\(\\(series_id = ${seriesId}\\) AND \\("?time"? >= '2024-03-01 00:00:00\\+00'.*AND \\("?time"? < '2024-03-02 00:00:00\\+00'`,
      ),
    );
    expect(plan.match(/ on (?:_hyper_\w+|candle_points)/g)).toHaveLength(1);
  });

  it('reads the newest point of a named series from its index alone', async () => {
    const newest = `select time, close from tidemark.candle_points
                      where series_id = tidemark.series_id('x', 'b', 'tether', 'h1') order by time desc limit 1`;
    const plan = (await ask(store.url, `explain (costs off) ${newest}`, 'UTC')).rows.join('\n');
    expect(plan).toMatch(/Index Scan Backward|Custom Scan \(ChunkAppend\)/);
    expect(plan).not.toContain('Sort Key');
    const { rows } = await store.database.pool.query(newest);
    expect(rows).toEqual([{ time: startMs + days * dayMs - hourMs, close: '1.5' }]);
    const ids = await store.database.pool.query(
      `select tidemark.series_id('x', 'b', 'tether', 'h1') as of_market`,
    );
    expect(ids.rows).toEqual([{ of_market: seriesId }]);
  });

  it('reads the newest candles of a named market from its index alone', async () => {
    const newest = `select time, close from candles('x', 'b', 'tether', 'h1') order by time desc limit 2`;
    const { rows: plan } = await store.database.pool.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, costs off, timing off, summary off) ${newest}`,
    );
    const scanned = plan
      .map((line) => line['QUERY PLAN'])
      .filter((line) => /(Index|Seq) .*Scan.* on /.test(line));
    const rowsOf = (line: string) => Number(/rows=(\d+)/.exec(line)?.[1] ?? 0);
    expect(scanned.length).toBeGreaterThan(0);
    // Each chunk may show its newest row, to find the newest of all.
    expect(scanned.reduce((sum, line) => sum + rowsOf(line), 0)).toBeLessThan(100);
    const { rows } = await store.database.pool.query(newest);
    expect(rows).toEqual(
      [1, 2].map((hour) => ({ time: startMs + days * dayMs - hour * hourMs, close: '1.5' })),
    );
  });

  it('has the rows of the view in the function of candles, stored and derived', async () => {
    for (const interval of ['h1', 'h4', 'd1', 'w1']) {
      const columns = 'time, open, high, low, close, volume, derived_from, points';
      const range = `time >= '2023-02-01' and time < '2023-03-01' order by time`;
      const called = await ask(
        store.url,
        `select ${columns} from candles('x', 'b', 'tether', '${interval}') where ${range}`,
      );
      const viewed = await ask(
        store.url,
        `select ${columns} from candles where exchange = 'x' and base = 'b' and quote = 'tether'
           and interval = '${interval}' and ${range}`,
      );
      expect(called.rows.length).toBeGreaterThan(3);
      expect(called.rows).toEqual(viewed.rows);
    }
  });

  it('plans only the chunks of its range', async () => {
    const year = await planOf(
      `tidemark.ohlcv_statement('x', 'b', 'tether', 'h1', '2023-01-01Z', '2024-01-01Z', false)`,
    );
    const day = await planOf(
      `tidemark.ohlcv_statement('x', 'b', 'tether', 'h1', '2023-06-01Z', '2023-06-01 12:00Z', false)`,
    );
    const chunks = (plan: string) => new Set(plan.match(/_hyper_\d+_\d+_chunk\b/g));
    expect(chunks(day).size).toBe(kind === 'main' ? 1 : 0);
    if (kind === 'main') expect(chunks(year).size).toBeGreaterThan(5);
  });

  it('looks up the nearest rates in their own range of time', async () => {
    const rows = Array.from(
      { length: 400 },
      (_, day) => `('${new Date(startMs + day * dayMs + 12 * hourMs).toISOString()}'::timestamptz)`,
    );
    await store.database.pool.query(`
        insert into tidemark.currencies (currency, symbol, type) values ('euro', 'EUR', 'fiat'), ('tether', 'USDT', 'crypto');
        insert into tidemark.rate_points select c.id, t, 2 from tidemark.currencies c, (values ${rows.join(',')}) as u (t)`);
    const { rows: read } = await ask(
      store.url,
      `select count(*), min(time)::date, max(time)::date from tidemark.rates_around(
           (select id from tidemark.currencies where currency = 'tether'), (select id from tidemark.currencies where currency = 'euro'),
           '2023-06-01Z', '2023-06-03Z')`,
      'UTC',
    );
    expect(read).toEqual(['4 | 2023-05-31 | 2023-06-03']);
  });
});

describeNeeding('timescale', 'plans on the columnstore', () => {
  it('filters by the segment of the series', async () => {
    const store = await openTestStore();
    try {
      const prices = Array.from({ length: 24 * 20 }, () => '1.5');
      const key = market('a', 'h1');
      const seriesId = await storeLine(store.database, { key, startMs, endMs: startMs + 20 * dayMs, prices });
      await store.database.pool.query(
        `alter table tidemark.candle_points set (timescaledb.enable_columnstore, timescaledb.segmentby = 'series_id', timescaledb.orderby = 'time')`,
      );
      await store.database.pool.query(
        `select compress_chunk(c) from show_chunks('tidemark.candle_points') c`,
      );
      const { rows } = await ask(
        store.url,
        `select tidemark.ohlcv_statement('x', 'a', 'tether', 'h1', '2023-01-03Z', '2023-01-04Z', true)`,
      );
      const plan = (await ask(store.url, `explain (costs off) ${rows[0]}`)).rows.join('\n');
      expect(plan).toContain('ColumnarScan');
      expect(plan).toMatch(
        new RegExp(`compress\\w*.*\\n.*(?:Index Cond|Filter): .*series_id = ${seriesId}\\)`),
      );
      const answer = await ask(
        store.url,
        `select count(*), min(coverage) from ohlcv('x', 'a', 'tether', 'h1', '2023-01-03Z', '2023-01-04Z')`,
      );
      expect(answer.rows).toEqual(['24 | 1']);
    } finally {
      await store.close();
    }
  });

  it('takes the bounds of candles() from a row beside it', async () => {
    const store = await openTestStore();
    const { pool } = store.database;
    try {
      const range = [Date.UTC(2023, 0, 1), Date.UTC(2023, 2, 1)] as const;
      for (const base of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'])
        await trackSeries(store.database, market(base, 'm1'), ...range);
      await pool.query(
        `insert into tidemark.candle_points (series_id, time, open, high, low, close, volume)
         select id, t, 1, 1, 1, 1, extract(minute from t)
         from tidemark.series, generate_series(timestamptz '2023-01-01Z', '2023-03-01Z', '1 minute') t order by 1, 2`,
      );
      await pool.query(`select compress_chunk(c) from show_chunks('tidemark.candle_points') c`);
      await pool.query('vacuum analyze tidemark.candle_points');
      const { rows } = await pool.query(
        `select c.time, c.volume
         from (select time, ends from ohlcv_by('x', 'b', 'tether', '7 minutes', '2023-01-03', '2023-01-04')
               order by volume limit 1) b,
              candles('x', 'b', 'tether', 'm1', b.time, b.ends) c
         order by c.time`,
      );
      expect(rows).toHaveLength(7);
    } finally {
      await store.close();
    }
  });
});
