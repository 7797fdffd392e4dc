import { beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { commitRatesOf } from '../../store/committing.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const laterMs = Date.UTC(2024, 0, 11);
const asset = (assetId: string, interval: 'h1' | 'd1' = 'h1'): SeriesKey => ({
  ...{ dataset: 'asset_history', assetId, interval },
});

const store = useStore();
const rows = rowsIn(store);
const put = (key: SeriesKey, prices: readonly (string | null)[], more: { startMs?: number; endMs?: number } = {}) =>
  storeLine(store.database, { key, startMs, endMs: startMs + dayMs, prices, ...more });
const constant = (count: number, price: string) => Array<string>(count).fill(price);

beforeAll(async () => {
  const others = { 'one-coin': '2', 'other-coin': '3', 'united-states-dollar': '1', worthless: '0' };
  for (const [hour, euro, peso] of [
    [6, '1.25', '0.05'],
    [12, '1.60', '0.04'],
  ] as const)
    await commitRatesOf(store.database, startMs + hour * hourMs, { euro, 'mexican-peso': peso, ...others });
  await store.database.pool.query(`update tidemark.currencies set symbol = 'TWO' where currency like '%-coin'`);
  await put(asset('coin'), constant(24, '10'));
  await put(market('v', 'h1'), constant(24, '1'));
});

it.each([
  ['h4', 'h1'],
  ['h6', 'h8'],
])('refuses a vwap of %s in sessions of %s, which a period crosses', async (interval, session) => {
  const call = `vwap('x', 'v', 'tether', '${interval}', session => '${session}')`;
  await expect(rows(`select * from ${call}`)).rejects.toThrow(`whole number of periods of ${interval}`);
});

it('has a vwap of nulls where a period is not covered', async () => {
  await storeLine(store.database, {
    ...{ key: market('n', 'h1'), startMs, endMs: startMs + 4 * hourMs, prices: ['1', null, null, '4'] },
    covered: [
      [0, 1],
      [3, 4],
    ],
  });
  expect(
    await rows(
      `select vwap::float, volume, session_vwap::float, candles, coverage from vwap('x', 'n', 'tether', 'h1')`,
    ),
  ).toEqual(['1 | 1 | 1 | 1 | 1', '- | - | - | - | 0', '- | - | - | - | 0', '4 | 1 | 2.5 | 1 | 1']);
});

it('weighs by the series that covers the range, not by a finer one that does not', async () => {
  const endMs = startMs + 2 * dayMs;
  await put(
    market('w', 'h1'),
    Array.from({ length: 48 }, (_, hour) => String(100 + hour)),
    { endMs },
  );
  await put(market('w', 'm1'), constant(1440, '7'), { startMs: startMs + dayMs, endMs });
  const of = (range: string) =>
    rows(`select vwap::float, candles, derived_from, coverage from vwap('x', 'w', 'tether', 'd1', ${range})`);
  expect(await of(`'2024-01-01Z', '2024-01-03Z'`)).toEqual(['111.5 | 24 | h1 | 1', '135.5 | 24 | h1 | 1']);
  expect(await of(`'2024-01-02Z', '2024-01-03Z'`)).toEqual(['7 | 1440 | m1 | 1']);
  expect(await of(`'2024-01-02Z', '2024-01-04Z'`)).toEqual(['7 | 1440 | m1 | 1', '- | - | m1 | 0']);
});

it('converts through the last known rate, and shows its time; a later one only when asked', async () => {
  const at = (options: string) =>
    rows(
      `select to_char(time, 'HH24'), price::float, to_char(rate_time, 'HH24'), rate_age
       from prices_in('coin', 'EUR', 'h1'${options}) where extract(hour from time) in (0, 9, 10, 12)`,
    );
  expect(await at('')).toEqual([
    '00 | - | - | -',
    // Known, and older than an hour.
    '09 | - | 06 | 03:00:00',
    '10 | - | 06 | 04:00:00',
    '12 | 6.25 | 12 | 00:00:00',
  ]);
  expect((await at(`, max_age => '4 hours'`)).slice(1, 3)).toEqual([
    '09 | 8 | 06 | 03:00:00',
    '10 | 8 | 06 | 04:00:00',
  ]);
  await expect(at(`, max_age => '-1 hour'`)).rejects.toThrow('cannot be negative');
  expect(await at(`, max_age => '12 hours', look_ahead => true`)).toEqual([
    '00 | 8 | 06 | -06:00:00',
    // Equally near to both: the earlier one.
    '09 | 8 | 06 | 03:00:00',
    '10 | 6.25 | 12 | -02:00:00',
    '12 | 6.25 | 12 | 00:00:00',
  ]);
  expect(await rows(`select from prices_in('coin', 'worthless', 'h1') where price is not null`)).toEqual([]);
  // A range without a rate of its own uses those on either side.
  const beside = `prices_in('coin', 'euro', 'h1', '2024-01-01 08:00Z', '2024-01-01 09:00Z', '2 hours')`;
  expect(await rows(`select price::float, to_char(rate_time, 'HH24') from ${beside}`)).toEqual(['8 | 06']);
});

it('converts a market from its quote, at the end of its periods, through both rates of one poll', async () => {
  const key = { ...market('coin', 'h1'), quoteId: 'mexican-peso' };
  await put(key, constant(24, '100'));
  expect(
    await rows(
      `select to_char(time, 'HH24'), price::float, source_price, source_currency, to_char(rate_time, 'HH24'), rate_age
       from prices_in('x coin/mexican-peso', 'euro', 'h1') where extract(hour from time) in (5, 11)`,
    ),
  ).toEqual(['05 | 4 | 100 | mexican-peso | 06 | 00:00:00', '11 | 2.5 | 100 | mexican-peso | 12 | 00:00:00']);
  const itself = `prices_in('x coin/mexican-peso', 'MXN', 'h1') where price is not null`;
  expect(await rows(`select distinct price = source_price from ${itself}`)).toEqual(['t']);
});

it('takes the middle of the day as the moment of a daily mean', async () => {
  await put(asset('coin', 'd1'), ['10']);
  expect(await rows(`select price::float, rate_age from prices_in('coin', 'EUR')`)).toEqual(['6.25 | 00:00:00']);
});

it.each([
  [`prices_in('coin', 'eruo')`, 'unknown currency "eruo"', 'did you mean "euro"?'],
  [`prices_in('coin', 'TWO')`, 'the currency "TWO" is ambiguous', 'say which: "one-coin" or "other-coin"'],
  [`ohlcv_in('x', 'v', 'tether', 'eruo')`, 'unknown currency "eruo"', 'did you mean "euro"?'],
])('refuses %s', async (call, message, hint) => {
  await expect(rows(`select * from ${call}`)).rejects.toMatchObject({ message, hint });
});

it('keeps sixteen figures of a converted price, however small', async () => {
  const tiny = constant(24, `0.${'0'.repeat(29)}1`);
  await put(asset('tiny'), tiny);
  await put({ ...market('tiny', 'h1'), quoteId: 'united-states-dollar' }, tiny);
  for (const [price, call] of [
    ['price', `prices_in('tiny', 'other-coin', 'h1')`],
    ['open', `ohlcv_in('x', 'tiny', 'united-states-dollar', 'other-coin', 'h1')`],
    ['close', `ohlcv_in('x', 'tiny', 'united-states-dollar', 'other-coin', 'h1')`],
  ])
    expect(await rows(`select ${price} from ${call} where ${price} is not null limit 1`)).toEqual([
      expect.stringMatching(/^0\.0{30}3{16,}$/),
    ]);
  const worthless = `ohlcv_in('x', 'tiny', 'united-states-dollar', 'worthless', 'h1')`;
  expect(await rows(`select from ${worthless} where close is not null`)).toEqual([]);
});

it('counts a return on the day in which it happened', async () => {
  // The 1st of January 2024 was a Monday.
  await put(asset('tide', 'd1'), ['100', '110', '99'], { endMs: startMs + 3 * dayMs });
  const figures = 'weekday, name, observations, mean_return::float, share_up::float';
  expect(await rows(`select ${figures} from seasonality_by_weekday('tide')`)).toEqual([
    '2 | Tuesday | 1 | 0.1 | 1',
    '3 | Wednesday | 1 | -0.1 | 0',
  ]);
});

it('opens by the rate at the start and closes by that at the end, never by a later one or one that is too old', async () => {
  const range = { startMs: laterMs, endMs: laterMs + 5 * hourMs };
  await put(market('a', 'h1'), ['100', '110', '120.5', '130', '0'], range);
  // Of two hours no rate is known in time. At 02:15 there is only the euro.
  for (const [hour, rates] of [
    [-0.5, { tether: '1.00', euro: '1.25' }],
    [0.5, { tether: '1.01', euro: '1.0' }],
    [1.5, { tether: '0.5', euro: '2' }],
    [2.25, { euro: '3' }],
    [4.5, { tether: '1', euro: '4' }],
  ] as const)
    await commitRatesOf(store.database, laterMs + hour * hourMs, rates);
  const prices = ['open', 'high', 'low', 'close'].map((name) => `trim_scale(${name})`);
  const times = ['open', 'close'].map((name) => `to_char(${name}_rate_time, 'HH24:MI')`);
  const columns = [`to_char(time, 'HH24')`, ...prices, 'volume', ...times];
  const converted = (rest = '') => rows(`select ${columns} from ohlcv_in('x', 'a', 'tether', 'euro', 'h1'${rest})`);
  // 100 tether are 80 euros at the start of the first hour, and 101 at its end.
  const known = [
    '00 | 80 | 101 | 80 | 101 | 1 | 23:30 | 00:30',
    '01 | 111.1 | 111.1 | 27.5 | 27.5 | 1 | 00:30 | 01:30',
  ];
  expect(await converted()).toEqual([
    ...known,
    '02 | 30.125 | - | - | - | 1 | 01:30 | 01:30',
    '03 | - | - | - | - | 1 | 01:30 | 01:30',
    '04 | - | - | - | 0 | 1 | 01:30 | 04:30',
  ]);
  const all = await converted(`, max_age => '1 day'`);
  expect(all).toEqual([
    ...known,
    '02 | 30.125 | 30.125 | 30.125 | 30.125 | 1 | 01:30 | 01:30',
    '03 | 32.5 | 32.5 | 32.5 | 32.5 | 1 | 01:30 | 01:30',
    '04 | 0 | 0 | 0 | 0 | 1 | 01:30 | 04:30',
  ]);
  // The same rates wherever the range begins.
  expect(await converted(`, '2024-01-11 03:00Z', max_age => '1 day'`)).toEqual(all.slice(3));
});
