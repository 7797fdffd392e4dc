/** The as-of join of times to prices, computed again from the points and the covered periods. */

import { beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { ask, rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const days = 500;

/** Prices with single periods and long stretches without one, and a different price in each period. */
function pricesOf(count: number, seed: number): (string | null)[] {
  return Array.from({ length: count }, (_, period) =>
    (period * 7 + seed) % 5 === 0 || period % 90 < 6 ? null : `${seed}${period}.50`,
  );
}
/** Gaps in the middle of stretches with and without prices. */
const coveredOf = (count: number) =>
  [
    [0, 40],
    [43, 91],
    [92, 200],
    [210, count - 3],
  ] as const;

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
type Name = keyof typeof lines;

/** The beginning is dense; then come single times, weeks apart, on and beside the bounds of periods. */
const timesMs = [
  ...Array.from({ length: 1200 }, (_, place) => startMs - hourMs + place * 17 * minuteMs),
  ...Array.from({ length: 90 }, (_, place) => startMs + 15 * dayMs + place * 5 * dayMs + (place % 3) * 30 * minuteMs),
  startMs + days * dayMs,
  startMs + (days + 40) * dayMs,
];

/** What was known at a time: by the points that had ended, and by the covered periods from there on. */
function knownAt(timeMs: number, { name, aheadMs, oldestMs, lengthMs, prices }: Known): string {
  const isCovered = (period: number) =>
    coveredOf(lines[name].prices.length).some(([from, to]) => {
      const perPeriod = lengthMs / lines[name].lengthMs;
      return period * perPeriod >= from && (period + 1) * perPeriod <= to;
    });
  const momentMs = timeMs - aheadMs;
  const newest = Math.floor((momentMs - startMs) / lengthMs);
  const earliest = Math.min(newest, Math.ceil((momentMs - oldestMs - startMs) / lengthMs));
  let period = newest;
  while (period >= 0 && (prices[period] ?? null) === null) period -= 1;
  const ofMs = (one: number) => momentMs - startMs - one * lengthMs;
  const last = period >= 0 ? period : null;
  const found = last !== null && ofMs(last) <= oldestMs ? last : null;
  let missing = 0;
  for (let one = found ?? earliest; one <= newest; one += 1) if (!isCovered(one)) missing += 1;
  const isOwn = found === newest && aheadMs === 0;
  const price = found === null || (missing > 0 && !isOwn) ? '-' : prices[found];
  return [price, ...(last === null ? ['-', '-'] : [startMs + last * lengthMs, ofMs(last)])].join(' | ');
}
interface Known {
  readonly name: Name;
  readonly aheadMs: number;
  readonly oldestMs: number;
  readonly lengthMs: number;
  readonly prices: readonly (string | null)[];
}

/** Closes of four hours each: the last one that there is. */
const byFour = Array.from({ length: 6 * days }, (_, period) =>
  lines.hours.prices.slice(4 * period, 4 * period + 4).reduce((last, price) => price ?? last, null),
);
const array = `array(select to_timestamp(ms / 1000.0) from unnest(array[${timesMs}]::bigint[]) ms)`;

const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  for (const { key, prices } of Object.values(lines))
    await storeLine(store.database, {
      ...{ key, startMs, endMs: startMs + days * dayMs, prices, covered: coveredOf(prices.length) },
    });
});

it.each<[string, string, Known]>([
  [
    'x a/tether',
    `'h1'`,
    { name: 'hours', aheadMs: hourMs, oldestMs: hourMs, lengthMs: hourMs, prices: lines.hours.prices },
  ],
  [
    'x a/tether',
    `'h1', '5 hours'`,
    { name: 'hours', aheadMs: hourMs, oldestMs: 5 * hourMs, lengthMs: hourMs, prices: lines.hours.prices },
  ],
  [
    'x a/tether',
    `'h1', '0'`,
    { name: 'hours', aheadMs: hourMs, oldestMs: 0, lengthMs: hourMs, prices: lines.hours.prices },
  ],
  [
    'x a/tether',
    `'h4', '1 day'`,
    { name: 'hours', aheadMs: 4 * hourMs, oldestMs: dayMs, lengthMs: 4 * hourMs, prices: byFour },
  ],
  [
    'a',
    `'h1', '90 minutes'`,
    { name: 'asset', aheadMs: 0, oldestMs: 90 * minuteMs, lengthMs: hourMs, prices: lines.asset.prices },
  ],
  [
    'a',
    `'d1', '3 days'`,
    { name: 'daily', aheadMs: dayMs, oldestMs: 3 * dayMs, lengthMs: dayMs, prices: lines.daily.prices },
  ],
])('%s at %s has the last price that was known at each time', async (series, rest, known) => {
  const answer = await rows(
    `select price, (extract(epoch from price_time) * 1000)::bigint, (extract(epoch from age) * 1000)::bigint
       from prices_asof(array['${series}'], ${array}, ${rest}) order by time`,
  );
  expect(answer).toEqual(timesMs.map((timeMs) => knownAt(timeMs, known)));
  const priced = answer.filter((row) => !row.startsWith('-')).length;
  expect([priced > 20, priced < timesMs.length - 100]).toEqual([true, true]);
});

it('has one row for each of several series and times, however often they are given', async () => {
  const [first = 0, second = 0] = timesMs.slice(100);
  const twice = `array(select to_timestamp(ms / 1000.0) from unnest(array[${first}, ${second}, ${first}]::bigint[]) ms)`;
  const answer = await rows(
    `select name, (extract(epoch from time) * 1000)::bigint from prices_asof(array['a', 'x a/tether', 'a'], ${twice}, 'h1')`,
  );
  expect(answer).toEqual(['a', 'x a/tether'].flatMap((name) => [`${name} | ${first}`, `${name} | ${second}`]));
});

it('tells the covered share of what it looked at, and refuses what is no time', async () => {
  const at = (hour: number) => `array['${new Date(startMs + hour * hourMs).toISOString()}']::timestamptz[]`;
  const answer = await ask(
    store.url,
    `select coverage, price from prices_asof(array['x a/tether'], ${at(44)} || ${at(48)}, 'h4')`,
  );
  // Of the hours of the first candle three are a gap.
  expect(answer.rows).toEqual(['0.25 | -', `1 | ${byFour[11]}`]);
  expect(answer.notices).toEqual([expect.stringContaining('75 % of 2024-01-02 12:00 to 2024-01-03 00:00 is covered')]);
  // Such as those of a table of orders that is empty.
  expect(await rows(`select * from prices_asof(array['a'], '{}', 'h1')`)).toEqual([]);
  for (const [times, message] of [
    [`array['infinity']::timestamptz[]`, 'a time is infinite'],
    ['null', 'times must be given, and is null'],
    ['array[now(), null]', 'a time must be given, and is null'],
  ])
    await expect(rows(`select * from prices_asof(array['a'], ${times}, 'h1')`)).rejects.toThrow(message);
  await expect(rows(`select * from prices_asof(array['a'], array[now()], 'h1', '-1 hour')`)).rejects.toThrow(
    'negative',
  );
});
