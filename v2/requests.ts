/**
 * Query parameters of the endpoints, as a client sends them and as the service validates them. A query string gives
 * text, or a list when a name is repeated. The interface describes most parameters without names; these names are from
 * the field.
 */

import { z } from 'zod';
import { historyIntervals } from '../model/datasets/asset-history.ts';
import { candleIntervals } from '../model/datasets/candles.ts';
import { byDataset } from '../model/datasets/index.ts';
import { pageSize } from './limits.ts';

/** Excludes NUL and lone surrogates, which PostgreSQL cannot hold. */
const searchable = /^[^\0\p{Surrogate}]*$/u;

const once = 'give each parameter once';

/** A single text value. @param missing message when it is absent or empty; without one it may be empty. */
function single(maximum: number, missing?: string) {
  return z
    .string({ error: ({ input }) => (input === undefined ? (missing ?? once) : once) })
    .min(missing === undefined ? 0 : 1, missing)
    .max(maximum, `longer than ${maximum} characters`)
    .regex(searchable, 'holds a character that no name has');
}

/** Far later than any time in milliseconds, and exact as a JavaScript number. */
const largestCount = 999_999_999_999_999;

/**
 * A nonnegative integer in decimal digits, without sign, exponent or hexadecimal.
 *
 * @param described JSON Schema keywords for the description. Without a `maximum` it is {@link largestCount}.
 */
function count(parameter: string, described: { maximum?: number; default?: number; description?: string } = {}) {
  const { maximum = largestCount } = described;
  const excess = maximum === largestCount ? `${parameter} is out of range` : `${parameter} exceeds ${maximum}`;
  return z
    .string(`give ${parameter} once`)
    .regex(/^\d+$/, `${parameter} must be a whole number`)
    .refine((text) => Number(text) <= maximum, excess)
    .meta({ type: 'integer', minimum: 0, ...described })
    .transform(Number);
}

const start = count('start', { description: 'Start of the range, UNIX milliseconds, inclusive.' }).optional();
const end = count('end', { description: 'End of the range, UNIX milliseconds, exclusive.' }).optional();

function interval<Interval extends string>(known: readonly Interval[], missing?: string) {
  const unknown = `use valid interval: ${known.join(', ')}`;
  return z.enum(known, { error: (issue) => (issue.input === undefined ? (missing ?? unknown) : unknown) });
}

const name = single(200).optional();

export const pageParameters = z.object({
  limit: count('limit', {
    maximum: pageSize.maximum,
    default: pageSize.default,
    description: 'Maximum number of rows.',
  }).default(pageSize.default),
  offset: count('offset', { default: 0, description: 'Rows to skip.' }).default(0),
});
export type PageRequest = z.output<typeof pageParameters>;

export const assetsParameters = pageParameters.extend({
  search: name.describe('Prefix of an id or symbol; case does not matter.'),
  ids: single(20_000)
    // A pattern for the spaces would take the square of their number.
    .transform((text) =>
      text
        .split(',')
        .map((id) => id.trim())
        .join(','),
    )
    .optional()
    .describe('Ids, separated by commas; spaces around them do not count.'),
});
export type AssetsRequest = z.output<typeof assetsParameters>;

export const marketsParameters = pageParameters.extend({
  exchangeId: name,
  baseSymbol: name.describe('Case does not matter.'),
  quoteSymbol: name.describe('Case does not matter.'),
  baseId: name,
  quoteId: name,
  assetSymbol: name.describe('Of the base or the quote; case does not matter.'),
  assetId: name.describe('Of the base or the quote.'),
});
export type MarketsRequest = z.output<typeof marketsParameters>;

// Error texts follow the field notes, so that clients of other services with this interface recognize them.

export const historyParameters = z.object({ interval: interval(historyIntervals), start, end });
export type HistoryRequest = z.output<typeof historyParameters>;

const market = {
  exchange: single(200, 'missing exchange'),
  baseId: single(200, 'missing base'),
  quoteId: single(200, 'missing quote'),
};

export const candlesParameters = z.object({
  ...market,
  interval: interval(candleIntervals, 'missing interval'),
  start,
  end,
});

/** For the points of each dataset. The key of a series comes first, in its order. */
export const pointsParameters = byDataset(({ of, intervals }) => {
  const key: Readonly<Record<string, z.ZodString>> =
    of === 'market' ? market : { assetId: single(200, 'missing asset') };
  return z.object({ ...key, interval: interval(intervals, 'missing interval'), start, end });
});

/** Series of one stream. */
const maxStreamed = 100;

export const streamParameters = z.object({
  series: single(20_000, 'missing series')
    .transform((text) => [...new Set(text.split(',').map((name) => name.trim()))])
    .refine((names) => names.length <= maxStreamed, `more than ${maxStreamed} series`)
    .describe('Series, separated by commas: `binance bitcoin/tether m1`, `bitcoin h1`, `rates`, `rates euro`.'),
  start: count('start', {
    description: 'Where to begin, UNIX milliseconds; by default now. `Last-Event-ID` takes precedence.',
  }).optional(),
});
