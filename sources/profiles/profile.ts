/**
 * A source profile: how one kind of source speaks, as data and pure functions without I/O. The client (source.ts) sends the
 * requests, the queue counts them, and the store decides what an answer proves.
 */

import type { CandleLines } from '../../model/candle-lines.ts';
import type { CandleInterval, EpochMs, HistoryInterval } from '../../model/intervals.ts';
import type { ArchiveFiles, Limit, SourceMarket } from '../../model/sources.ts';
import type { UpstreamCoverage } from '../../planning/upstream-coverage.ts';
import type { AssetsRequest, CandlesRequest, HistoryRequest, MarketsRequest, PageRequest } from '../../v2/requests.ts';
import type { Asset, AssetMarket, Candle, Exchange, HistoryPoint, Market, Rate } from '../../v2/resources.ts';
import type { Answer } from '../answer.ts';
import type { HeaderLookup, Reply } from '../attempt.ts';
import type { SourceError } from '../source-error.ts';

/** The request of a window of candles. */
export interface CandlesQuery extends CandlesRequest {
  /** The market as the source names it. Sources of one exchange need it. */
  readonly symbol?: string | undefined;
}

type Windowed<Row, Rows = Row[]> = Omit<Answer<Row>, 'rows'> & {
  readonly rows: Rows;
  /** What the source states of its own coverage; null: nothing. */
  readonly known: UpstreamCoverage | null;
};

/** The resources that a source may have: what is asked, and what is answered. */
export interface Resources {
  candles: { query: CandlesQuery; answer: Windowed<Candle, Candle[] | CandleLines> };
  assetHistory: { query: HistoryRequest & { readonly id: string }; answer: Windowed<HistoryPoint> };
  rates: { query: object; answer: Answer<Rate> };
  assets: { query: Partial<AssetsRequest>; answer: Answer<Asset> };
  assetMarkets: { query: Partial<PageRequest> & { readonly id: string }; answer: Answer<AssetMarket> };
  markets: { query: Partial<MarketsRequest>; answer: Answer<Market> };
  exchanges: { query: object; answer: Answer<Exchange> };
  /** Every market of a source of one exchange, in one request. */
  symbols: { query: object; answer: Answer<SourceMarket> };
}

export type ResourceName = keyof Resources;

/** How a source gives one resource. */
export interface Resource<Name extends ResourceName> {
  /** Cost of one request in the unit of the profile's limits; default 1. */
  readonly cost?: number;
  /** Path of a checksum that is requested before. */
  checksumPath?(query: Resources[Name]['query']): string;
  /** Path and query after the base address, percent-encoded. */
  path(query: Resources[Name]['query']): string;
  /**
   * The rows of a response with status 200, exact, in any order.
   *
   * @throws SourceError for a response that is not the resource, such as an error in a 200.
   */
  read(
    reply: Reply,
    query: Resources[Name]['query'],
    nowMs: EpochMs,
    checksum: Reply | null,
  ): Resources[Name]['answer'] | Promise<Resources[Name]['answer']>;
}

/** Requests of a window: a file has its checksum beside it. */
export function requestsOfWindow({ resources }: Pick<Profile, 'resources'>): number {
  return resources.candles?.checksumPath === undefined ? 1 : 2;
}

export interface Profile {
  readonly name: string;
  /** Base address; null: it has to be configured. */
  readonly url: string | null;
  /** Further addresses of the same source. */
  readonly otherUrls?: readonly string[];
  /** The exchange whose candles it gives; null: a request names the exchange. */
  readonly exchange: string | null;
  /** Of an address without and with a key. */
  readonly limits: (hasKey: boolean) => readonly Limit[];
  /** Longest range of one request, milliseconds, by dataset. An interval that is absent is not given. */
  readonly longestRangeMs: {
    readonly candles: Partial<Readonly<Record<CandleInterval, number>>>;
    readonly asset_history: Partial<Readonly<Record<HistoryInterval, number>>>;
  };
  /** The newest periods of candles that it keeps; null: all. */
  readonly depthPeriods: number | null;
  /** Of an archive; null: it is none. */
  readonly files: ArchiveFiles | null;
  /** Of an archive, the profile whose list of markets names its files. */
  readonly marketsOf?: string;
  /** Name of the profile of its archive; absent: it has none. */
  readonly archive?: string;
  /** What a period without a row means: no trade, or nothing. */
  readonly absence: 'no trade' | 'unknown';
  /** Longest pause that it may ask for, milliseconds. */
  readonly longestPauseMs: number;
  /** Headers that carry the key. */
  readonly keyHeaders: (key: string) => Readonly<Record<string, string>>;
  /** The symbol of a pair, where it follows from the codes: of a source that is used without its list of markets. */
  readonly symbolOf?: (base: string, quote: string) => string;
  readonly resources: { readonly [Name in ResourceName]?: Resource<Name> };
  /** The error of a response with another status than 200. */
  readonly refusal: (reply: Reply, nowMs: EpochMs) => SourceError;
  /** What the source says was used of its first limit in the current period; null: nothing. */
  readonly used?: (header: HeaderLookup) => number | null;
}

/** The longest ranges of a source that gives at most `rows` rows. */
export function rangesOf<Interval extends string>(
  rows: number,
  intervals: Partial<Readonly<Record<Interval, unknown>>>,
  lengthMs: Readonly<Record<Interval, number>>,
): Partial<Readonly<Record<Interval, number>>> {
  const names = Object.keys(intervals) as Interval[];
  return Object.fromEntries(names.map((interval) => [interval, rows * lengthMs[interval]])) as Partial<
    Record<Interval, number>
  >;
}

/** A path with a query string, without undefined values. */
export function withQuery(path: string, query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}
