/** A watch list as it is meant. */

import type { CandleInterval, EpochMs, HistoryInterval } from '../contract/intervals.ts';
import type { StoredDataset } from '../contract/series.ts';
import type { Start } from '../planning/watch-changes.ts';
import type { Place } from './problem.ts';

/** Ids and patterns; null: any. */
export type Names = readonly string[] | null;

export interface MarketFilter {
  readonly exchange: Names;
  readonly base: Names;
  readonly quote: Names;
}

export interface CandleEntry extends MarketFilter {
  /** Only markets whose base is one of so many assets that rank first. */
  readonly top: number | null;
  readonly except: readonly MarketFilter[];
  readonly intervals: readonly CandleInterval[];
  readonly start: Start;
  readonly endMs: EpochMs | null;
  readonly place: Place;
}

export interface AssetFilter {
  readonly asset: Names;
  readonly top: number | null;
  readonly except: Names;
  readonly place: Place;
}

export interface HistoryEntry extends AssetFilter {
  readonly intervals: readonly HistoryInterval[];
  readonly start: Start;
  readonly endMs: EpochMs | null;
}

export interface AssetMarketsEntry extends AssetFilter {
  readonly everyMs: number;
}

export const wholeLists = ['assets', 'exchanges', 'markets', 'rates'] as const;
export type WholeList = (typeof wholeLists)[number];

/** What is read again, where it is not as the environment has it. */
export interface RereadSaid {
  readonly periods?: number;
  readonly days?: number;
  readonly hours?: number;
}

export interface WatchList {
  readonly candles: readonly CandleEntry[];
  readonly history: readonly HistoryEntry[];
  readonly assetMarkets: readonly AssetMarketsEntry[];
  /** How often each list that is named is polled; null: not any more. */
  readonly lists: ReadonlyMap<WholeList, number | null>;
  readonly reread: RereadSaid;
  /** The age that is kept of each dataset that is named; null: all, for good. */
  readonly retention: ReadonlyMap<StoredDataset, string | null>;
  readonly prune: boolean;
}
