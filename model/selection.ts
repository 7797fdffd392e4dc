/** What a user selects to track. */

import type { EpochMs } from './intervals.ts';
import type { SeriesKey } from './series.ts';

export interface Selection {
  readonly series: readonly SeriesKey[];
  readonly fromMs: EpochMs;
  /** Null: open-ended. */
  readonly toMs: EpochMs | null;
  /**
   * Where to get it, and so the names of its series; null: the user names no source. A known series keeps its sources,
   * and a new one has the default source.
   */
  readonly source: SourceChoice | null;
}

/** What a command selects: series in the words of a source. */
export interface SourceChoice {
  readonly name: string;
  /** `BTC/USDT`, or as the source names it; null: of an asset's history, or where a request names the exchange. */
  readonly symbol: string | null;
  /** Names that the user gives the series; absent: the source's own. */
  readonly exchange?: string | undefined;
  readonly base?: string | undefined;
  readonly quote?: string | undefined;
}
