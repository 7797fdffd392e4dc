/** What is known of a source beside its data. */

import type { DatasetName } from './datasets/index.ts';
import type { DecimalText } from './decimal.ts';
import type { EpochMs, Interval } from './intervals.ts';
import type { MarketKind } from './market.ts';

/** One of a source's limits. A source may have several at once; each holds by itself. */
export interface Limit {
  readonly unit: 'request' | 'weight' | 'credit';
  readonly amount: number;
  readonly periodMs: number;
  /** Another source counts against it as well: each uses half of it, unless its `budget` is stated. */
  readonly isShared?: boolean;
  /** One more for each so many bytes of an answer; absent: size costs nothing. */
  readonly bytesEach?: number;
  /** Size of a row, bytes, to estimate what answers will cost. Absent with `bytesEach`. */
  readonly rowBytes?: number;
}

/** The files of an archive. */
export interface ArchiveFiles {
  /** The calendar unit that one file holds, UTC. */
  readonly unit: 'month' | 'day';
  /** How long after its end a file is there; of a month, after the first Monday that follows it. */
  readonly lagMs: number;
  /** How much of the next unit a file may begin with in place of that one's own; absent: nothing. */
  readonly spillMs?: number;
}

/** A market as the source names it. */
export interface SourceMarket {
  /** As requests name it: `BTCUSDT`, `BTC-USD`, `XBTUSD`. */
  readonly symbol: string;
  /** Codes of the assets: `BTC`, `USDT`. Kraken's XBT and XDG are BTC and DOGE. */
  readonly base: string;
  /** Also how it is settled: `USDT`, `USDT:USDT`, `USD:BTC-261225` (model/market.ts). */
  readonly quote: string;
  /** Start of trading, as the source states it: there may be older points. Null: it does not say. */
  readonly listedMs: EpochMs | null;
  readonly isTrading: boolean;
  /** What one contract is worth; null: amounts are in the base asset. */
  readonly contract: { readonly size: DecimalText; readonly asset: string } | null;
}

/** Name of the source of SOURCE_URL. */
export const defaultSource = 'default';

/** Stands among the names of sources for imported files. */
export const fileSource = 'file';

/** A source in a sentence. @param isOneOfSeveral whether others are in use. */
export function sourceText(name: string, isOneOfSeveral = false): string {
  if (name !== defaultSource) return name;
  return isOneOfSeveral ? 'the default source' : 'the source';
}

/** Longest ranges of a request, milliseconds, by interval. An interval that is absent is not given. */
export type LongestRanges = Partial<Readonly<Record<Interval, number>>>;

/** Longest ranges that replace those of a source. */
export type RangeLimits = Partial<Readonly<Record<DatasetName, LongestRanges>>>;

/** What a source keeps of each series: its newest periods, or a time. */
export type Depth = { readonly periods: number } | { readonly ms: number };

/** How a source gives one dataset. */
export interface OfferFacts {
  readonly dataset: DatasetName;
  /** Kinds of the markets of which it gives it; absent: all that it has. */
  readonly kinds?: readonly MarketKind[] | undefined;
  readonly longestRangeMs: LongestRanges;
  /** Null: it keeps all. */
  readonly depth: Depth | null;
  /** Of one request, in the unit of the source's limits. */
  readonly cost: number;
  /** Since when it gives a value that the files of its archive lack: what they gave is requested once more. */
  readonly addsSinceMs?: EpochMs | undefined;
  /** What a period without a row means: no trade, or nothing. */
  readonly absence: 'no trade' | 'unknown';
}

/** The offer of a dataset; undefined: the source does not give it. */
export function offerOf<Offer extends Pick<OfferFacts, 'dataset'>>(
  offers: readonly Offer[],
  dataset: DatasetName,
): Offer | undefined {
  return offers.find((offer) => offer.dataset === dataset);
}

/** Cost of the request of a window, in the unit of the limits: of the dearest, so that no limit is exceeded. */
export function costOfWindow(offers: ReadonlyArray<Pick<OfferFacts, 'cost'>>): number {
  return Math.max(1, ...offers.map(({ cost }) => cost));
}

/** What planning needs to know of a source. */
export interface SourceFacts {
  readonly name: string;
  /** Null: a request names the exchange. */
  readonly exchange: string | null;
  /** Kinds of the markets that it gives. */
  readonly kinds: readonly MarketKind[];
  /** At most one of each dataset. */
  readonly offers: readonly OfferFacts[];
  /** Of an archive; null: it is none. */
  readonly files: ArchiveFiles | null;
  /** Name of the source that has its history in files; null: none. */
  readonly archive: string | null;
  readonly limits: readonly Limit[];
  /** 0: no limit. */
  readonly requestsPerMinute: number;
  /** False: the budget of connected workers applies instead. */
  readonly isBudgetStated: boolean;
  /** Its limit of a long period, such as the credits of a month; null: it has none. */
  readonly longLimit: Limit | null;
}
