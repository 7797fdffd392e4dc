/** docs/sources.md has a table of all profiles. It must state what they say. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { historyIntervals } from '../../model/datasets/asset-history.ts';
import { candleIntervals } from '../../model/datasets/candles.ts';
import type { DatasetName } from '../../model/datasets/index.ts';
import { dayMs, type Interval, intervalMs } from '../../model/intervals.ts';
import { type Limit, offerOf } from '../../model/sources.ts';
import type { Profile } from '../../sources/profiles/profile.ts';
import { profiles } from '../../sources/profiles/profiles.ts';

const page = readFileSync('docs/sources.md', 'utf8');

const rows = new Map(
  [...page.matchAll(/^\| `([\w-]+)` \|(.*)\|$/gm)].map(([, name = '', cells = '']) => [
    name,
    cells.split('|').map((cell) => cell.trim()),
  ]),
);

test('the table has each profile once, and each has a section', () => {
  expect([...rows.keys()]).toEqual(Object.keys(profiles));
  const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'));
  expect(sections).toEqual(expect.arrayContaining(Object.keys(profiles)));
});

test.each(Object.entries(profiles))('%s: the table states what the profile says', (name, profile) => {
  const [candles, histories, rowsOfRequest, limits, depth, , absence, key] = rows.get(name) ?? [];
  const rangesOf = (dataset: DatasetName) => offerOf(profile.offers, dataset)?.longestRangeMs ?? {};
  expect(candles).toBe(named(candleIntervals.filter((interval) => interval in rangesOf('candles'))));
  expect(histories).toBe(named(historyIntervals.filter((interval) => interval in rangesOf('asset_history'))));
  expect(rowsOfRequest).toBe(longest(profile));
  expect(limits).toBe(limitsOf(profile));
  for (const offer of profile.offers) {
    expect(depth).toBe(offer.depth === null ? 'all' : `newest ${Object.values(offer.depth)}`);
    expect(absence).toBe(offer.absence);
  }
  expect(key === 'none').toBe(Object.keys(profile.keyHeaders('sesame')).length === 0);
});

function named(intervals: readonly string[]): string {
  return intervals.length === 0 ? 'none' : `\`${intervals.join(' ')}\``;
}

/** The rows of the longest range, which are the same for each interval of an exchange. */
function longest({ exchange, files, offers }: Profile): string {
  if (files !== null) return `a calendar ${files.unit}`;
  const { m1 = 0, h1 = 0 } = offers.at(-1)?.longestRangeMs ?? {};
  if (exchange === null) return `a range: ${m1 / dayMs} day of m1, ${h1 / dayMs} of h1`;
  const counts = offers.flatMap(({ longestRangeMs }) =>
    Object.entries(longestRangeMs).map(([interval, rangeMs]) => rangeMs / intervalMs[interval as Interval]),
  );
  return [...new Set(counts)].map((count) => count.toLocaleString('en-US')).join(', ');
}

function limitsOf({ limits }: Profile): string {
  const [without, withKey] = [limits(false), limits(true)];
  const more = withKey
    .filter(({ amount }, index) => amount !== without[index]?.amount)
    .map(({ amount }) => `, ${amount.toLocaleString('en-US')} with a key`);
  return without.length === 0 ? 'none stated' : without.map(textOf).join('; ') + more.join('');
}

const periods = new Map([
  [1000, 'a second'],
  [60_000, 'a minute'],
  [31 * dayMs, 'in 31 days'],
]);

function textOf({ unit, amount, periodMs }: Limit): string {
  const units = unit === 'weight' || amount === 1 ? unit : `${unit}s`;
  return `${amount.toLocaleString('en-US')} ${units} ${periods.get(periodMs) ?? `in ${periodMs / 1000} seconds`}`;
}
