import { beforeAll, expect, it } from 'vitest';
import { dayMs } from '../../../model/intervals.ts';
import { onEachDatabase, useStore } from '../../store/open-store.ts';
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

  it.each(['h1', 'h4', 'd1', 'w1'])('has the rows of the view in the function of candles of %s', async (interval) => {
    const of = (source: string) =>
      rows(
        `select time, open, high, low, close, volume, derived_from, points from ${source}
         and time >= '2023-02-01' and time < '2023-03-01' order by time`,
      );
    const called = await of(`candles('x', 'b', 'tether', '${interval}') where true`);
    expect(called.length).toBeGreaterThan(3);
    const named = `exchange = 'x' and base = 'b' and quote = 'tether' and interval = '${interval}'`;
    expect(called).toEqual(await of(`candles where ${named}`));
  });
});
