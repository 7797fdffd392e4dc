/** What the source lists, as the newest complete polls have it. */

import type { EpochMs } from '../contract/intervals.ts';

export interface ListedMarket {
  readonly exchange: string;
  readonly base: string;
  readonly quote: string;
  /** The source ceased to list it then; null: it is listed. */
  readonly goneSinceMs: EpochMs | null;
}

export interface ListedAsset {
  readonly asset: string;
  /** Null: the source gives none. */
  readonly rank: number | null;
  readonly goneSinceMs: EpochMs | null;
}

/** Null: never polled completely. */
export interface Listed {
  readonly markets: readonly ListedMarket[] | null;
  readonly assets: readonly ListedAsset[] | null;
}
