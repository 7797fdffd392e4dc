/** docs/sources.md has a table of all profiles. It must state what they say. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { historyIntervals } from '../../model/datasets/asset-history.ts';
import { candleIntervals } from '../../model/datasets/candles.ts';
import { type DatasetName, datasetOf } from '../../model/datasets/index.ts';
import { dayMs, type Interval, intervalMs } from '../../model/intervals.ts';
import { type Limit, type OfferFacts, offerOf } from '../../model/sources.ts';
import type { Profile } from '../../sources/profiles/profile.ts';
import { profiles } from '../../sources/profiles/profiles.ts';

const page = readFileSync('docs/sources.md', 'utf8');

const rows = new Map(
  [...page.matchAll(/^\| `([\w-]+)` \|( [^|]*(?:\|[^|]*){7})\|$/gm)].map(([, name = '', cells = '']) => [
    name,
    cells.split('|').map((cell) => cell.trim()),
  ]),
);

test('the table has each profile once, and each has a section', () => {
  expect([...rows.keys()]).toEqual(Object.keys(profiles));
  const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'));
  expect(sections).toEqual(expect.arrayContaining(Object.keys(profiles)));
});

test.each(Object.entries(profiles))('%s: the table states what the profile says', (name, { ...profile }) => {
  const [candles, histories, rowsOfRequest, limits, depth, , absence, key] = rows.get(name) ?? [];
  const rangesOf = (dataset: DatasetName) => offerOf(profile.offers, dataset)?.longestRangeMs ?? {};
  const isOfSpot = ({ dataset }: { readonly dataset: DatasetName }) => /^(candles|asset_history)$/.test(dataset);
  const others = profile.offers.filter((offer) => !isOfSpot(offer));
  const stated = [...page.matchAll(new RegExp(`^\\| \`${name}\` \\| \`(\\w+)\` \\|(.*)\\|$`, 'gm'))].map(
    ([, dataset, cells = '']) => [dataset, ...cells.split('|').map((cell) => cell.trim())],
  );
  if (profile.exchange !== null) expect(stated).toEqual(others.map((offer) => ofPerpetual(offer, profile)));
  Object.assign(profile, { offers: profile.offers.filter(isOfSpot) });
  expect(candles).toBe(named(candleIntervals.filter((interval) => interval in rangesOf('candles'))));
  expect(histories).toBe(named(historyIntervals.filter((interval) => interval in rangesOf('asset_history'))));
  expect(rowsOfRequest).toBe(longest(profile));
  expect(limits).toBe(limitsOf(profile));
  if (profile.offers.length === 0) expect([depth, absence]).toEqual(['none', 'none']);
  for (const offer of profile.offers) {
    expect(depth).toBe(offer.depth === null ? 'all' : `newest ${Object.values(offer.depth)}`);
    expect(absence).toBe(offer.absence);
  }
  expect(key === 'none').toBe(Object.keys(profile.keyHeaders('sesame')).length === 0);
});

/** Dataset, intervals, rows of a request, depth. */
function ofPerpetual({ dataset, longestRangeMs, depth }: OfferFacts, { files }: Profile): string[] {
  const [[interval, rangeMs] = ['h1', 0]] = Object.entries(longestRangeMs);
  const { time } = datasetOf(dataset);
  const periodMs = time.density === 'linked' ? time.longestMs : intervalMs[interval as Interval];
  const rowsOfRequest = files === null ? (rangeMs / periodMs).toLocaleString('en-US') : `a calendar ${files.unit}`;
  const kept = depth === null ? 'all' : 'ms' in depth ? `${depth.ms / dayMs} days` : `newest ${depth.periods}`;
  return [dataset, named(Object.keys(longestRangeMs)), rowsOfRequest, kept];
}

function named(intervals: readonly string[]): string {
  return intervals.length === 0 ? 'none' : `\`${intervals.join(' ')}\``;
}

/** The rows of the longest range, which are the same for each interval of an exchange. */
function longest({ exchange, files, offers }: Profile): string {
  if (offers.length === 0) return 'none';
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
  [300_000, 'in 5 minutes'],
  [31 * dayMs, 'in 31 days'],
]);

function textOf({ unit, amount, periodMs, isShared = false }: Limit): string {
  const units = unit === 'weight' || amount === 1 ? unit : `${unit}s`;
  const period = periods.get(periodMs) ?? `in ${periodMs / 1000} seconds`;
  return `${amount.toLocaleString('en-US')} ${units} ${period}${isShared ? ', shared' : ''}`;
}
