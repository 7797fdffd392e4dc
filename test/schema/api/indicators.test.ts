import { beforeAll, expect, it } from 'vitest';
import { hourMs, type Interval, intervalMs } from '../../../model/intervals.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);

/** Prices that go up and down, with the source's digits and trailing zeros. */
function prices(): string[] {
  let price = 100;
  return Array.from({ length: 250 }, (_, place) => {
    price *= 1 + ((((place + 1) * 7919) % 101) - 50) / 1000;
    return price.toFixed(10 + (place % 3) * 3);
  });
}

/** Wilder's example as widely published, and its first values to two digits. */
const published = {
  prices:
    '44.3389 44.0902 44.1497 43.6124 44.3278 44.8264 45.0955 45.4245 45.8433 46.0826 ' +
    '45.8931 46.0328 45.6140 46.2820 46.2820 46.0028 46.0328 46.4116 46.2222 45.6439',
  rsi: ['70.53', '66.32', '66.55', '69.41', '66.36', '57.97'],
};

const store = useStore();
const rows = rowsIn(store);

async function put(base: string, interval: Interval & ('d1' | 'h1' | 'm1'), line: readonly (string | null)[]) {
  const covered = line.flatMap((price, place) => (price === null ? [] : [[place, place + 1] as const]));
  const endMs = startMs + line.length * intervalMs[interval];
  await storeLine(store.database, { key: market(base, interval), startMs, endMs, prices: line, covered });
}

beforeAll(() => put('a', 'd1', prices()));

it('computes bands with other deviations', async () => {
  const ratios = await rows(
    `select distinct round((half.upper_band - half.middle_band) / (usual.upper_band - usual.middle_band), 9)
     from bollinger('x a/tether', deviations => 0.5) half join bollinger('x a/tether') usual using (time)
     where usual.middle_band is not null`,
  );
  expect(ratios).toEqual(['0.250000000']);
});

it('computes volatility, correlation and beta of minutes to the last digits', async () => {
  await put('long', 'm1', ['30000.01', '30000.03', '29999.98', '30000.02', '30000.05']);
  await put('short', 'm1', ['2000.017', '2000.019', '2000.013', '2000.014', '2000.018']);
  const pair = `correlation('x long/tether', 'x short/tether', 'm1')`;
  const rolling = `rolling_${pair.slice(0, -1)}, periods => 4)`;
  // From logarithms to sixty digits.
  for (const [figure, call, expected] of [
    ['volatility', `volatility('x long/tether', 'm1', periods => 4)`, '0.000986576309376612737567746334755825'],
    ['correlation', pair, '0.919873510463319988742656862715459920'],
    ['beta', pair, '0.575628516984097773093050154331794375'],
    ['correlation', rolling, '0.919873510463319988742656862715459920'],
    ['beta', rolling, '0.575628516984097773093050154331794375'],
  ]) {
    const near = `select '${figure}', abs(${figure} - ${expected}) < 3e-16 from ${call} where ${figure} is not null`;
    expect(await rows(near)).toEqual([`${figure} | t`]);
  }
});

it('computes the relative strength index by Wilder, as published', async () => {
  await put('wilder', 'd1', published.prices.split(' '));
  const given = await rows(`select round(rsi, 2) from rsi('x wilder/tether') where rsi is not null`);
  expect(given).toEqual(published.rsi);
  await put('flat', 'd1', Array(20).fill('7.00'));
  expect(await rows(`select count(*), count(rsi) from rsi('x flat/tether', periods => 3)`)).toEqual(['20 | 0']);
});

it('takes no return across a gap of one series where the other had no trade', async () => {
  const x = ['10', '11', '12', '11', '13', null, '15', '14', '16', '15'];
  const y = ['20', '21', '23', '22', '24', null, '27', '25', '26', '28'];
  const endMs = startMs + x.length * hourMs;
  await put('open', 'h1', x);
  await storeLine(store.database, { key: market('quiet', 'h1'), startMs, endMs, prices: y });
  const pair = `'x open/tether', 'x quiet/tether', 'h1'`;
  expect(await rows(`select round(correlation, 12), observations from correlation(${pair})`)).toEqual([
    '0.669308383531 | 7',
  ]);
  const nulls = `select to_char(time, 'HH24') from rolling_correlation(${pair}, periods => 2) where correlation is null`;
  // At 05:00 the second one has no row. The windows of the two hours after it lack the return across the gap.
  expect(await rows(nulls)).toEqual(['00', '01', '06', '07']);
});

it('keeps sixteen decimals of a return, however large', async () => {
  // 55 / 0.00019 - 1 and 1e42 / 13 - 1 by long division.
  expect(await rows('select tidemark.simple_return(55, 0.00019), tidemark.simple_return(1e42, 13)')).toEqual([
    '289472.6842105263157895 | 76923076923076923076923076923076923076922.0769230769230769',
  ]);
});

it.each([
  ...['sma', 'ema', 'rsi', 'bollinger'].map((name) => [
    `${name}('x a/tether', periods => 0)`,
    'periods must be 1 or more',
  ]),
  ...['-1', `'NaN'`].map((deviations) => [
    `bollinger('x a/tether', deviations => ${deviations})`,
    'deviations must be 0 or more',
  ]),
  [`volatility('x a/tether', periods => 1)`, '2 or more'],
  [`(select ema(1.0, 0) over ()) s`, '1 or more'],
])('refuses %s', async (call, message) => {
  await expect(rows(`select * from ${call}`)).rejects.toThrow(message);
});
