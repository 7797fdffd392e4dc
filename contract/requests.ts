/** Query parameters of the endpoints, as a client sends them and as the service validates them. */

import { z } from 'zod';
import { candleIntervals, historyIntervals } from './intervals.ts';
import { pageSize } from './limits.ts';

/** Parameters of section 4. The interface describes most of them without names; these names are from the field. */
export interface AssetsQuery {
  search?: string;
  /** Comma-separated asset ids. */
  ids?: string;
  limit?: number;
  offset?: number;
}

export interface PageQuery {
  limit?: number;
  offset?: number;
}

export interface MarketsQuery extends PageQuery {
  exchangeId?: string;
  baseSymbol?: string;
  quoteSymbol?: string;
  baseId?: string;
  quoteId?: string;
  /** Markets with this symbol as base or quote. */
  assetSymbol?: string;
  /** Markets with this id as base or quote. */
  assetId?: string;
}

/** `start` inclusive, `end` exclusive, UNIX milliseconds; both or neither. */
export interface HistoryQuery {
  interval: (typeof historyIntervals)[number];
  start?: number;
  end?: number;
}

/** `start` inclusive, `end` exclusive, UNIX milliseconds. */
export interface CandlesQuery {
  exchange: string;
  interval: (typeof candleIntervals)[number];
  baseId: string;
  quoteId: string;
  start?: number;
  end?: number;
}

// Schemas for the service. A query string gives text, or a list when a name is repeated.

/** Excludes NUL and lone surrogates, which PostgreSQL cannot hold. */
const searchable = /^[^\0\p{Surrogate}]*$/u;

/** A single text value; a repeated name is refused. */
function single(maximum: number) {
  return z
    .string('give each parameter once')
    .max(maximum, `longer than ${maximum} characters`)
    .regex(searchable, 'holds a character that no name has');
}

/**
 * A nonnegative integer in decimal digits, without sign, exponent or hexadecimal.
 *
 * @param described JSON Schema keywords for the description.
 */
function count(
  parameter: string,
  described: { maximum?: number; default?: number; description?: string } = {},
) {
  return z
    .string(`give ${parameter} once`)
    .regex(/^\d{1,15}$/, `${parameter} must be a whole number`)
    .meta({ type: 'integer', minimum: 0, ...described })
    .transform(Number);
}

const start = count('start', { description: 'Start of the range, UNIX milliseconds, inclusive.' }).optional();
const end = count('end', { description: 'End of the range, UNIX milliseconds, exclusive.' }).optional();

function required(message: string) {
  return z
    .string({ error: (issue) => (issue.input === undefined ? message : 'give each parameter once') })
    .min(1, message)
    .max(200, 'longer than 200 characters')
    .regex(searchable, 'holds a character that no name has');
}

function interval<Interval extends string>(known: readonly Interval[], missing?: string) {
  const unknown = `use valid interval: ${known.join(', ')}`;
  return z.enum(known, { error: (issue) => (issue.input === undefined ? (missing ?? unknown) : unknown) });
}

const name = single(200).optional();

export const pageParameters = z.object({
  limit: count('limit', {
    maximum: pageSize.maximum,
    default: pageSize.default,
    description: 'Most rows of the answer.',
  })
    .refine((limit) => limit <= pageSize.maximum, `limit exceeds ${pageSize.maximum}`)
    .default(pageSize.default),
  offset: count('offset', { default: 0, description: 'Rows to skip.' }).default(0),
});
export type PageRequest = z.output<typeof pageParameters>;

export const assetsParameters = pageParameters.extend({
  search: name.describe('Ids and symbols that begin so, in any case.'),
  ids: single(20_000).optional().describe('Ids, separated by commas.'),
});
export type AssetsRequest = z.output<typeof assetsParameters>;

export const marketsParameters = pageParameters.extend({
  exchangeId: name,
  baseSymbol: name.describe('In any case.'),
  quoteSymbol: name.describe('In any case.'),
  baseId: name,
  quoteId: name,
  assetSymbol: name.describe('Of the base or the quote, in any case.'),
  assetId: name.describe('Of the base or the quote.'),
});
export type MarketsRequest = z.output<typeof marketsParameters>;

// Error texts follow the field notes, so that clients of other services with this interface recognize them.

export const historyParameters = z.object({
  interval: interval(historyIntervals),
  start,
  end,
});
export type HistoryRequest = z.output<typeof historyParameters>;

export const candlesParameters = z.object({
  exchange: required('missing exchange'),
  interval: interval(candleIntervals, 'missing interval'),
  baseId: required('missing base'),
  quoteId: required('missing quote'),
  start,
  end,
});
export type CandlesRequest = z.output<typeof candlesParameters>;
