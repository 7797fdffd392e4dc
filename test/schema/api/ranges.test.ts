import { beforeAll, describe, expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { ask, storeLine } from './price-line.ts';

const store = useStore();
/** Hours from Wednesday 5:00 to a Monday: the first day and the first week are known in part. */
const startMs = Date.UTC(2024, 2, 6, 5);
const hours = 12 * 24 - 5;
beforeAll(async () => {
  const prices = Array.from({ length: hours }, (_, hour) => `${100 + hour}`);
  const endMs = startMs + hours * hourMs;
  await storeLine(store.database, { key: market('a', 'h1'), startMs, endMs, prices });
  const history = { dataset: 'asset_history', assetId: 'a', interval: 'h1' } as const;
  await storeLine(store.database, { key: history, startMs, endMs, prices });
});

const a = `'x', 'a', 'tether'`;
const asked = (sql: string) => ask(store.url, sql, 'UTC');

describe('the first period, of which only a part is tracked', () => {
  it.each([
    ['w1', '2024-03-04', 115],
    ['d1', '2024-03-06', 19],
    ['h4', '2024-03-06 04:00:00', 3],
  ])('is in ohlcv as in the view and in ohlcv_by: %s', async (interval, first, points) => {
    const { rows: view } = await asked(
      `select time, open, close, points from candles
       where exchange = 'x' and base = 'a' and quote = 'tether' and interval = '${interval}' order by time limit 1`,
    );
    expect(view).toEqual([`${first}${first.length === 10 ? ' 00:00:00' : ''}+00 | 100 | ${99 + points} | ${points}`]);
    const { rows, notices } = await asked(
      `select time, open, close, ${points} from ohlcv(${a}, '${interval}') order by time limit 1`,
    );
    expect([rows, notices]).toEqual([view, []]);
    const length = { w1: '7 days', d1: '1 day', h4: '4 hours' }[interval];
    expect(await asked(`select time, open, close, ${points} from ohlcv_by(${a}, '${length}') limit 1`)).toEqual({
      rows: view,
      notices: [],
    });
    expect((await asked(`select coverage_share('x a/tether', '${interval}')`)).rows).toEqual(['1']);
    const [share] = (await asked(`select coverage from ohlcv(${a}, '${interval}') order by time limit 1`)).rows;
    expect(Number(share)).toBeGreaterThan(0);
    expect(Number(share)).toBeLessThan(1);
  });

  it('is left out where the range begins in it, and where prices are those of a time', async () => {
    const from = `'2024-03-05'`;
    expect((await asked(`select time from ohlcv(${a}, 'w1', ${from}) limit 1`)).rows).toEqual([
      '2024-03-11 00:00:00+00',
    ]);
    expect((await asked(`select time, price_usd from price_history('a', 'h2') limit 1`)).rows).toEqual([
      '2024-03-06 06:00:00+00 | 101',
    ]);
  });

  it('counts as missing where the range begins before what is tracked', async () => {
    const { notices } = await asked(`select * from ohlcv(${a}, 'w1', '2024-03-04', '2024-03-11')`);
    expect(notices).toEqual([expect.stringMatching(/^68.45 % of 2024-03-04 00:00 to 2024-03-11 00:00 is covered; /)]);
  });
});

describe('a range outside of what is tracked', () => {
  it.each([
    ['2020-01-01', '2020-02-01', 'is not tracked'],
    ['2090-01-01', '2090-02-01', 'has not begun'],
  ])('is said in a notice: %s', async (from, to, said) => {
    for (const call of [
      `ohlcv(${a}, 'h1', '${from}', '${to}')`,
      `prices('x a/tether', 'h1', '${from}', '${to}')`,
      `price_history('a', 'h1', '${from}', '${to}')`,
      `ohlcv_by(${a}, '7 days', '${from}', '${to}')`,
      `vwap(${a}, 'h1', '${from}', '${to}')`,
      `candles_as_known_at(${a}, 'h1', now(), '${from}', '${to}')`,
    ]) {
      const { notices } = await asked(`select * from ${call}`);
      expect([call, notices]).toEqual([
        call,
        [expect.stringMatching(new RegExp(`^${from.slice(0, 7)}-0\\d .* ${said};`))],
      ]);
    }
  });

  it('names an interval that covers it, where days are derived from a longer series of other years', async () => {
    const [older, newer] = [Date.UTC(2023, 0, 1), Date.UTC(2024, 0, 1)];
    const line = { prices: ['1'], covered: [[0, 2000]] as const };
    await storeLine(store.database, { ...line, key: market('two', 'h4'), startMs: older, endMs: newer });
    const minutes = { startMs: newer, endMs: newer + 2000 * minuteMs };
    await storeLine(store.database, { ...line, ...minutes, key: market('two', 'm1') });
    const { notices } = await asked(`select * from ohlcv('x', 'two', 'tether', 'd1', '2024-01-01', '2024-01-02')`);
    const hint = 'm1 covers some of it: name that interval, or use ohlcv_by or vwap, which choose by the range';
    expect(notices).toEqual([`2024-01-01 00:00 to 2024-01-02 00:00 is not tracked; ${hint}`]);
  });
});

describe('a price in its own currency', () => {
  it.each([
    ["prices_in('x a/tether', 'tether', 'h1')", 'time, price, source_price, source_currency'],
    ["prices_in('a', 'united-states-dollar', 'h1')", 'time, price, source_price, source_currency'],
  ])('has the factor 1, without any rate: %s', async (call, columns) => {
    const { rows } = await asked(`select ${columns}, rate_time, rate_age, coverage from ${call}`);
    expect(rows).toHaveLength(hours);
    expect(rows[1]).toMatch(/^2024-03-06 06:00:00\+00 \| 101 \| 101 \| (tether|united-states-dollar) \| - \| - \| 1$/);
  });

  it('has the candles of the market', async () => {
    const columns = 'time, open, high, low, close, volume, coverage';
    expect(await asked(`select ${columns} from ohlcv_in(${a}, 'tether', 'd1')`)).toEqual(
      await asked(`select ${columns} from ohlcv(${a}, 'd1')`),
    );
  });
});

it.each([
  ['series', `prices(null)`],
  ['series', `returns(null, 'h1')`],
  ['series', `asof('x a/tether', null, 'h1')`],
  ['series', `aligned(null)`],
  ['series', `intervals_of(null)`],
  ['gap_fill', `ohlcv(${a}, 'h1', gap_fill => null)`],
  ['gap_fill', `prices('a', 'h1', gap_fill => null)`],
  ['bucket', `ohlcv_by(${a}, null)`],
  ['zone', `ohlcv_by(${a}, '1 day', zone => null)`],
  ['look_ahead', `prices_in('a', 'united-states-dollar', 'h1', look_ahead => null)`],
  ['known_at', `candles_as_known_at(${a}, 'h1', null)`],
  ['at', `assets_at(null)`],
  ['at', `markets_at(null)`],
  ['threshold', `volume_bars(${a}, null, 'h1')`],
  ['threshold', `dollar_bars(${a}, null, 'h1')`],
  ['field', `rolling('x a/tether', field => null)`],
  ['a time', `prices_asof(array['a'], array[null]::timestamptz[], 'h1')`],
  ['series', `funding_panel(array[null])`],
  ['quote', `universe_at('2024-01-02', quotes => array[null])`],
  ['exchange', `universe_at('2024-01-02', exchanges => array[null])`],
  ...['sma', 'ema', 'rsi', 'bollinger', 'volatility'].map((name) => [
    'periods',
    `${name}('x a/tether', 'h1', periods => null)`,
  ]),
  ['deviations', `bollinger('x a/tether', 'h1', deviations => null)`],
])('refuses a null %s: %s', async (name, call) => {
  await expect(asked(`select * from ${call}`)).rejects.toMatchObject({
    code: '22004',
    message: `${name} must be given, and is null`,
  });
});

it.each([
  ['exchange', `ohlcv(null, 'a', 'tether')`],
  ['base', `candles('x', null, 'tether')`],
  ['interval', `prices('x a/tether', null)`],
  ['currency', `prices_in('a', null, 'h1')`],
])('refuses a null name of %s with the known ones: %s', async (name, call) => {
  await expect(asked(`select * from ${call}`)).rejects.toMatchObject({
    code: '22004',
    message: `${name} must be given, and is null`,
  });
});
