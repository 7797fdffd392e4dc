import { beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const days = 366;
const tiny = `0.${'0'.repeat(29)}1`;
const huge = `1${'0'.repeat(42)}`;

/** Prices of a line: gaps, ties, zeros, and values of any size. */
function pricesOf(count: number, seed: number): (string | null)[] {
  return Array.from({ length: count }, (_, period) => {
    const value = (period * 7 + seed * 13) % 23;
    if (value < 4) return null;
    return value === 4 ? '0' : value === 5 ? tiny : value === 6 ? huge : String(value >> 1);
  });
}

const lines = {
  hours: { key: market('a', 'h1'), lengthMs: hourMs, prices: pricesOf(24 * days, 1) },
  asset: {
    key: { dataset: 'asset_history', assetId: 'a', interval: 'h1' } as const,
    lengthMs: hourMs,
    prices: pricesOf(24 * days, 2),
  },
  daily: {
    key: { dataset: 'asset_history', assetId: 'a', interval: 'd1' } as const,
    lengthMs: dayMs,
    prices: pricesOf(days, 3),
  },
};

const store = useStore();
const rows = rowsIn(store);
const put = (key: SeriesKey, fromMs: number, count: number, lengthMs: number) =>
  storeLine(store.database, {
    ...{ key, startMs: fromMs, endMs: fromMs + count * lengthMs, prices: Array<string>(count).fill('1') },
  });
beforeAll(async () => {
  for (const { key, prices } of Object.values(lines))
    await storeLine(store.database, { key, startMs, endMs: startMs + days * dayMs, prices });
  // Tracked for the first day of June; the other interval of the second one is tracked for the year.
  const june = Date.UTC(2024, 5, 1);
  await put(market('late', 'h1'), june, 24, hourMs);
  await put(market('both', 'm1'), june, 1440, minuteMs);
  await put(market('both', 'd1'), startMs, days, dayMs);
});

it.each<[keyof typeof lines, keyof typeof lines, string, number, number, number]>([
  // How long after its time each is known, and how old a price may be.
  ['hours', 'asset', `'x a/tether', 'a', 'h1'`, hourMs, 0, hourMs],
  ['asset', 'hours', `'a', 'x a/tether', 'h1', max_age => '5 hours'`, 0, hourMs, 5 * hourMs],
  ['daily', 'hours', `'a', 'x a/tether', 'd1', other_interval => 'h1', max_age => '2 days'`, dayMs, hourMs, 2 * dayMs],
])('%s beside the last known price of %s: asof(%s)', async (left, right, call, ahead, rightAhead, oldest) => {
  const known = lines[right].prices.flatMap((price, period) => {
    const timeMs = startMs + period * lines[right].lengthMs;
    return price === null ? [] : [{ timeMs, atMs: timeMs + rightAhead, price }];
  });
  const expected = lines[left].prices.flatMap((price, period) => {
    if (price === null) return [];
    const timeMs = startMs + period * lines[left].lengthMs;
    const last = known.findLast(({ atMs }) => atMs <= timeMs + ahead);
    const age = last === undefined ? null : timeMs + ahead - last.atMs;
    return [[timeMs, price, age !== null && age <= oldest ? last?.price : '-', age ?? '-'].join(' | ')];
  });
  const answer = await rows(
    `select (extract(epoch from time) * 1000)::bigint, price, other_price, (extract(epoch from other_age) * 1000)::bigint
     from asof(${call})`,
  );
  expect(answer.length).toBeGreaterThan(2);
  expect(answer).toEqual(expected);
});

it('names the last price of the other series however long ago it was, in any range', async () => {
  const call = `'x a/tether', 'a', 'h1'`;
  const all = await rows(`select time, other_price, other_time, other_age from asof(${call})`);
  const at = (hour: number) => new Date(startMs + hour * hourMs).toISOString();
  for (const hour of [2, 500, 4000, 8000]) {
    const sql = `select time, other_price, other_time, other_age from asof(${call}, '${at(hour)}', '${at(hour + 40)}')`;
    const some = await rows(sql);
    expect(some.length).toBeGreaterThan(10);
    expect(all).toEqual(expect.arrayContaining(some));
  }
});

it('several series on one grid, as rows and as one row a time', async () => {
  const times = new Map<number, [string, string]>();
  for (const [place, name] of (['hours', 'asset'] as const).entries())
    for (const [period, price] of lines[name].prices.entries()) {
      if (price === null) continue;
      const row = times.get(period) ?? ['-', '-'];
      row[place] = price;
      times.set(period, row);
    }
  const sorted = [...times].sort(([a], [b]) => a - b).map(([, pair]) => pair);
  const names = `array['x a/tether', 'a'], 'h1'`;
  expect(await rows(`select price from aligned(${names})`)).toEqual(sorted.flat());
  const wide = await rows(`select prices ->> 'x a/tether', prices ->> 'a', complete from aligned_wide(${names})`);
  expect(wide).toEqual(sorted.map(([a, b]) => `${a} | ${b} | ${a !== '-' && b !== '-' ? 't' : 'f'}`));
  // Every hour of both was requested: without a row it had no price.
  expect(await rows(`select distinct coverage from aligned(${names})`)).toEqual(['1']);
  const late = `aligned(array['x a/tether', 'x late/tether'], 'h1')`;
  expect(
    await rows(`select min(time) filter (where coverage = 1), count(*) filter (where coverage = 1)
                from ${late} where name = 'x late/tether'`),
  ).toEqual(['2024-06-01 00:00:00+00 | 24']);
  // A name that is given twice is one series.
  const twice = `array['a', 'x a/tether', 'a'], 'h1'`;
  expect(await rows(`select price from aligned(${twice})`)).toEqual(sorted.flatMap(([a, b]) => [b, a]));
  for (const call of ['aligned', 'aligned_wide'])
    await expect(rows(`select * from ${call}(null, 'h1')`)).rejects.toThrow('must be given, and is null');
  await expect(rows(`select * from aligned(array['a', 'bb'], 'h1')`)).rejects.toThrow('unknown asset "bb"');
});

it('chooses an interval for a chart that covers its range', async () => {
  const chosen = (wanted: string, from: string, to: string) =>
    rows(`select chart_interval('x both/tether', '${wanted}', '2024-${from}Z', '2024-${to}Z', 600000)`);
  expect(await chosen('auto', '01-01', '01-11')).toEqual(['d1']);
  expect(await chosen('auto', '06-01', '06-01 23:00')).toEqual(['m15']);
  // The last tenth may be open still.
  expect(await chosen('auto', '06-01', '06-02 02:00')).toEqual(['m15']);
  expect(await chosen('m15', '01-01', '01-11')).toEqual(['m15']);
  await expect(chosen('auto', '01-11', '01-01')).rejects.toThrow('ends before that');
});
