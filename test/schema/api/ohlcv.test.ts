import { beforeAll, expect, it } from 'vitest';
import { dayMs, graceMs, hourMs, periodStart, weekMs } from '../../../model/intervals.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { ask, rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 2, 10);

const store = useStore();
const rows = rowsIn(store);
let seriesId: number;
beforeAll(async () => {
  // A quiet hour (2), a gap (6 to 8), a quiet hour (9) after it before the next trade, and another (11).
  const prices = Array.from({ length: 24 }, (_, hour) =>
    [2, 6, 7, 8, 9, 11].includes(hour) ? null : `${100 + hour}.50`,
  );
  seriesId = await storeLine(store.database, {
    ...{ key: market('a', 'h1'), startMs, endMs: startMs + dayMs, prices, volume: '0.250' },
    covered: [
      [0, 6],
      [9, 24],
    ],
  });

  it('counts a period as closed when the workers do', async () => {
    const found = await store.database.pool.query('select (extract(epoch from tidemark.grace()) * 1000)::bigint as ms');
    expect(found.rows).toEqual([{ ms: graceMs }]);
  });
});

const hours = (from: string, to: string, more = '') => {
  const columns = `to_char(time at time zone 'UTC', 'HH24'), close, volume, filled, coverage`;
  const range = `'2024-03-${from}Z', '2024-03-${to}Z'`;
  return ask(store.url, `select ${columns} from ohlcv('x', 'a', 'tether', 'h1', ${range}${more})`);
};
const filled = async (from: string, to: string) => (await hours(from, to, ', gap_fill => true')).rows;

const withTrades = [
  '01 | 101.50 | 0.250 | f | 1',
  '03 | 103.50 | 0.250 | f | 1',
  '04 | 104.50 | 0.250 | f | 1',
  '05 | 105.50 | 0.250 | f | 1',
  '06 | - | - | f | 0',
  '07 | - | - | f | 0',
  '08 | - | - | f | 0',
  '10 | 110.50 | 0.250 | f | 1',
];

it('shows a gap as rows of nulls with a notice, and leaves out periods without trades', async () => {
  const { rows: shown, notices } = await hours('10 01:00', '10 12:00');
  expect(shown).toEqual(withTrades);
  expect(notices).toEqual([expect.stringMatching(/^72.72 % of 2024-03-10 01:00 to 2024-03-10 12:00 is covered; /)]);
  expect(notices[0]).toContain(`select * from gaps where series_id = ${seriesId}`);
  expect((await hours('10 09:00', '10 12:00')).notices).toEqual([]);
});

it('fills periods without trades on request, and nothing after a gap', async () => {
  const quiet = ['02 | 101.50 | 0 | t | 1', '09 | - | 0 | t | 1', '11 | 110.50 | 0 | t | 1'];
  expect(await filled('10 01:00', '10 12:00')).toEqual([...withTrades, ...quiet].sort());
});

it.each([
  ['10 01:30', '10 02:30', ['02 | 101.50 | 0 | t | 1']],
  ['10 09:00', '10 10:00', ['09 | - | 0 | t | 1']],
  // Outside the tracked range.
  ['09 22:00', '10 01:00', ['22 | - | - | f | 0', '23 | - | - | f | 0', '00 | 100.50 | 0.250 | f | 1']],
])('uses the last close before the range from %s to %s, unless there is a gap between', async (from, to, wanted) => {
  expect(await filled(from, to)).toEqual(wanted);
});

it('carries no close of a period whose end is not known', async () => {
  await storeLine(store.database, {
    ...{ key: market('p', 'h1'), startMs, endMs: startMs + 12 * hourMs },
    prices: ['1', '2', null, null, null, null, null, null, '3', null, null, null],
    covered: [
      [0, 2],
      [4, 12],
    ],
  });
  expect(
    await rows(`select close, volume, filled, coverage from ohlcv('x', 'p', 'tether', 'h4', gap_fill => true)`),
  ).toEqual(['2 | 2 | f | 0.5', '- | 0 | t | 1', '3 | 1 | f | 1']);
});

it('answers an interval that follows from a finer one, with the share that is covered', async () => {
  const days = `ohlcv('x', 'a', 'tether', 'd1', '2024-03-09Z', '2024-03-12Z')`;
  expect(await rows(`select time::date, open, close, volume, derived_from, coverage from ${days}`)).toEqual([
    '2024-03-09 | - | - | - | h1 | 0',
    '2024-03-10 | 100.50 | 123.50 | 4.500 | h1 | 0.875',
    '2024-03-11 | - | - | - | h1 | 0',
  ]);
});

it('returns an open candle with its covered share, and no row for a period that has not ended', async () => {
  const twoWeeks = { startMs: periodStart(Date.now(), 'w1') - 2 * weekMs, endMs: null };
  const covered = [[0, 2]] as const;
  await storeLine(store.database, { key: market('open', 'w1'), ...twoWeeks, prices: ['1', '2', '3'], covered });
  await storeLine(store.database, { key: market('unread', 'w1'), ...twoWeeks, prices: ['1', '2'], covered });
  const whole = ['1 | f | 1', '2 | f | 1'];
  for (const fill of ['false', 'true']) {
    const of = (base: string) => {
      const call = `ohlcv('x', '${base}', 'tether', 'w1', gap_fill => ${fill})`;
      return ask(store.url, `select close, filled, coverage from ${call}`);
    };
    expect(await of('open')).toEqual({ rows: [...whole, '3 | f | 0'], notices: [] });
    expect(await of('unread')).toEqual({ rows: whole, notices: [] });
  }
});

it('refuses a range that ends before it begins, and one beyond all bounds', async () => {
  const of = (range: string) => rows(`select time from ohlcv('x', 'a', 'tether', 'h1', ${range})`);
  await expect(of(`'2024-03-11Z', '2024-03-10Z'`)).rejects.toThrow(/ends before/);
  await expect(of(`'2024-03-20Z'`)).rejects.toThrow(/^the range begins at 2024-03-20 .*, and what is tracked ends/);
  await expect(of(`'2999-01-01Z'`)).rejects.toThrow(/^the range begins in the future, at 2999-01-01 /);
  await expect(of(`null, '2000-01-01Z'`)).rejects.toThrow(/^the range ends at 2000-01-01 .*, and what is tracked begi/);
  await expect(of(`'0001-01-01Z', '9999-01-01Z'`)).rejects.toThrow(/million periods/);
  await expect(of(`'infinity', null`)).rejects.toThrow(/no period is between infinity and infinity/);
  await expect(of(`null, '-infinity'`)).rejects.toThrow(/no period is between -infinity and -infinity/);
  expect(await of(`'-infinity', 'infinity'`)).toEqual(await of('null, null'));
  expect(await of(`'2024-03-10 01:15Z', '2024-03-10 01:45Z'`)).toEqual([]);
});

it('fills prices of assets too, and returns prices of markets and assets alike', async () => {
  await storeLine(store.database, {
    ...{ key: { dataset: 'asset_history', assetId: 'coin', interval: 'h1' }, startMs },
    ...{ endMs: startMs + 4 * hourMs, prices: ['1.10', null, '3', null], covered: [[0, 3]] },
  });
  const of = (call: string) => rows(`select * from ${call}`);
  const all = [
    '2024-03-10 00:00:00+00 | 1.10 | f | 1',
    '2024-03-10 01:00:00+00 | 1.10 | t | 1',
    '2024-03-10 02:00:00+00 | 3 | f | 1',
    '2024-03-10 03:00:00+00 | - | f | 0',
  ];
  expect(await of(`price_history('coin', 'h1', gap_fill => true)`)).toEqual(all);
  expect(await of(`prices('coin', 'h1', gap_fill => true)`)).toEqual(all);
  expect(await of(`price_history('coin', 'h1')`)).toEqual(all.filter((row) => !row.includes('| t |')));
  expect(await of(`prices('x a/tether', 'h1', '2024-03-10Z', '2024-03-10 01:00Z')`)).toEqual([
    '2024-03-10 00:00:00+00 | 100.50 | f | 1',
  ]);
  expect(await of(`coverage_share('coin', 'h1')`)).toEqual(['0.75']);
});
