/** What a user selects to track. */

import type { EpochMs } from './intervals.ts';
import type { SeriesKey } from './series.ts';

export interface Selection {
  readonly series: readonly SeriesKey[];
  readonly fromMs: EpochMs;
  /** Null: open-ended. */
  readonly toMs: EpochMs | null;
  /** Where to get it; null: the default source. The names of its series are the source's to say. */
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
