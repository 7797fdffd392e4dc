/** Query parameters of each endpoint, by the names known from the field, as schemas for serving. */

import { z } from 'zod';
import { candleIntervals, historyIntervals } from './intervals.ts';
import { pageSize } from './limits.ts';

/** The names of section 4's parameters. The interface gives most of them by meaning only; these are the field's. */
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

const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const name = z.string().max(200);

export const pageParameters = z.object({
  limit: count.max(pageSize.maximum, `limit exceeds ${pageSize.maximum}`).default(pageSize.default),
  offset: count.default(0),
});

export const assetsParameters = pageParameters.extend({
  search: name.optional(),
  ids: z.string().max(20_000).optional(),
});

export const marketsParameters = pageParameters.extend({
  exchangeId: name.optional(),
  baseSymbol: name.optional(),
  quoteSymbol: name.optional(),
  baseId: name.optional(),
  quoteId: name.optional(),
  assetSymbol: name.optional(),
  assetId: name.optional(),
});

/** Error texts follow the field notes, so that clients of other services of this interface understand them. */
export const historyParameters = z.object({
  interval: z.enum(historyIntervals, `use valid interval: ${historyIntervals.join(', ')}`),
  start: count.optional(),
  end: count.optional(),
});

export const candlesParameters = z.object({
  exchange: z.string('missing exchange').min(1, 'missing exchange').max(200),
  interval: z.enum(candleIntervals, {
    error: (issue) =>
      issue.input === undefined ? 'missing interval' : `use valid interval: ${candleIntervals.join(', ')}`,
  }),
  baseId: z.string('missing base').min(1, 'missing base').max(200),
  quoteId: z.string('missing quote').min(1, 'missing quote').max(200),
  start: count.optional(),
  end: count.optional(),
});
