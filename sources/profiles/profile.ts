/**
 * A source profile: how one kind of source speaks, as data and pure functions without I/O. The client (source.ts) sends
 * the requests, the queue counts them, and the store decides what an answer proves.
 */

import { datasetText } from '../../model/datasets/index.ts';
import type { EpochMs, Interval } from '../../model/intervals.ts';
import type { ListName, ListRow } from '../../model/lists/index.ts';
import type { MarketKind } from '../../model/market.ts';
import type { Range } from '../../model/ranges.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import type { ArchiveFiles, Limit, LongestRanges, OfferFacts, SourceMarket } from '../../model/sources.ts';
import type { Answer, PointsAnswer } from '../../planning/answer.ts';
import type { PageRequest } from '../../v2/requests.ts';
import type { HeaderLookup, Reply } from '../attempt.ts';
import { SourceError } from '../source-error.ts';

/** The request of a window: a series and a range. */
export type PointsQuery = SeriesKey &
  Range & {
    /** The market as the source names it. Sources of one exchange need it. */
    readonly symbol?: string | undefined;
  };

/** How a source gives something. */
export interface Resource<Query, Answer> {
  /** Cost of one request in the unit of the profile's limits; default 1. */
  readonly cost?: number;
  /** Path of a checksum that is requested before. */
  checksumPath?(query: Query): string;
  /** Path and query after the base address, percent-encoded. */
  path(query: Query): string;
  /**
   * The rows of a response with status 200, exact, in any order.
   *
   * @throws SourceError for a response that is not the resource, such as an error in a 200.
   */
  read(reply: Reply, query: Query, nowMs: EpochMs, checksum: Reply | null): Answer | Promise<Answer>;
}

/** How a source gives one dataset. */
export interface Offer extends OfferFacts, Omit<Resource<PointsQuery, PointsAnswer>, 'cost'> {}

/** The request of a page of a list. */
export interface ListQuery extends Partial<PageRequest> {
  /** The asset whose entries are listed. */
  readonly id?: string;
}

/** The lists that a source may have. */
export interface Lists extends Readonly<Partial<Record<ListName, Resource<ListQuery, Answer<ListRow>>>>> {
  /** Every market of a source of one exchange, in one request. */
  readonly symbols?: Resource<object, Answer<SourceMarket>>;
}

/** Requests of a window: a file has its checksum beside it. */
export function requestsOfWindow({ offers }: Pick<Profile, 'offers'>): number {
  return offers.some(({ checksumPath }) => checksumPath !== undefined) ? 2 : 1;
}

export interface Profile {
  readonly name: string;
  /** Base address; null: it has to be configured. */
  readonly url: string | null;
  /** Further addresses of the same source. */
  readonly otherUrls?: readonly string[];
  /** The exchange whose candles it gives; null: a request names the exchange. */
  readonly exchange: string | null;
  /** Kinds of the markets that it gives. */
  readonly kinds: readonly MarketKind[];
  /** Of an address without and with a key. */
  readonly limits: (hasKey: boolean) => readonly Limit[];
  /** At most one of each dataset. */
  readonly offers: readonly Offer[];
  readonly lists: Lists;
  /** Of an archive; null: it is none. */
  readonly files: ArchiveFiles | null;
  /** Of an archive, the profiles whose lists of markets name its files. */
  readonly marketsOf?: readonly string[];
  /** Name of the profile of its archive; absent: it has none. */
  readonly archive?: string;
  /** Longest pause that it may ask for, milliseconds. */
  readonly longestPauseMs: number;
  /** Headers that carry the key. */
  readonly keyHeaders: (key: string) => Readonly<Record<string, string>>;
  /** The symbol of a pair, where it follows from the codes: of a source that is used without its list of markets. */
  readonly symbolOf?: (base: string, quote: string) => string;
  /** The error of a response with another status than 200. */
  readonly refusal: (reply: Reply, nowMs: EpochMs) => SourceError;
  /** What the source says was used of its first limit in the current period; null: nothing. */
  readonly used?: (header: HeaderLookup) => number | null;
}

/** The longest ranges of a source that gives at most `rows` rows of each interval. */
export function rangesOf(rows: number, intervals: object, lengthMs: (interval: Interval) => number): LongestRanges {
  const names = Object.keys(intervals) as Interval[];
  return Object.fromEntries(names.map((interval) => [interval, rows * lengthMs(interval)]));
}

/**
 * The market of a request, as the source names it.
 *
 * @throws SourceError `refused` without one: names are not guessed.
 */
export function symbolOf(query: PointsQuery): string {
  if (query.symbol !== undefined) return query.symbol;
  const message = `${seriesName(query)} has no symbol at this source any more`;
  throw new SourceError({ kind: 'refused', message });
}

/**
 * What the source calls the interval of a request.
 *
 * @throws SourceError `refused` for an interval that it lacks: without the parameter it would answer with its default.
 */
export function intervalName<Name>(
  intervals: Partial<Readonly<Record<Interval, Name>>>,
  { dataset, interval }: PointsQuery,
): Name {
  const name = intervals[interval];
  if (name !== undefined) return name;
  throw new SourceError({ kind: 'refused', message: `the source has no ${datasetText(dataset)} of ${interval}` });
}

/** A path with a query string, without undefined values. */
export function withQuery(path: string, query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}
