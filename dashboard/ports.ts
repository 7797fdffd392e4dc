/** What the dashboard asks of the rest of the process; `runtime/dashboard-ports.ts` connects both. */

import type { EpochMs } from '../model/intervals.ts';
import type { Range } from '../model/ranges.ts';
import type { Selection } from '../model/selection.ts';
import type { SeriesKey } from '../model/series.ts';
import type { QueueFacts, StoredFacts } from '../planning/headline.ts';
import type { WindowProgress } from '../planning/progress.ts';
import type { BackfillLine, ComparedLine } from './shapes.ts';

export interface StatePorts {
  /** Facts of the headline. */
  readFacts(nowMs: EpochMs): Promise<StoredFacts>;
  /** @returns counts the requests for missing ranges of a series, at all its sources. */
  readRequestCounter(nowMs: EpochMs): Promise<(series: SeriesKey, gaps: readonly Range[]) => number>;
  /** Those that may go on first, then the newest. @param queue null: it does not answer. */
  readBackfills(queue: QueueFacts | null, nowMs: EpochMs): Promise<readonly BackfillLine[]>;
  /** The sources that a series can be compared with, first those that are known to have it. */
  sourcesToCompare(one: { readonly seriesId: number; readonly series: SeriesKey }): Promise<readonly ComparedLine[]>;
}

export interface ActionPorts {
  /** @returns the result in a sentence. @throws TidemarkError when it cannot be done. */
  act(request: ActionRequest, parts: ActionContext): Promise<string>;
  /** @returns what the requests will cost, a sentence for each source. @throws TidemarkError as `act`. */
  costOf(request: CostRequest): Promise<string[]>;
  /** Tracks nothing. @throws TidemarkError when it cannot be tracked. */
  planTracking(selection: Selection): Promise<TrackingPlan>;
}

interface TrackingPlan {
  /** Names. */
  readonly series: readonly string[];
  readonly notes: readonly string[];
  readonly requests: number;
  readonly points: number;
  /** Null: unknown. */
  readonly durationMs: number | null;
  readonly requestsPerMinute: number;
  readonly diskBytes: number;
}

export interface OfSeries {
  /** Ids or names of series; absent: every tracked one. */
  readonly series?: readonly string[] | undefined;
  /** Whole periods that it touches; absent: at any time. */
  readonly within?: Range | undefined;
}

export type ActionRequest =
  | ({ readonly action: 'retry' | 'repair' } & OfSeries)
  /**
   * @param sample number of windows, drawn at random; null: all.
   * @param against another source to compare with; null: each series' own.
   */
  | ({ readonly action: 'verify'; readonly sample: number | null; readonly against: string | null } & OfSeries)
  | { readonly action: 'track'; readonly selection: Selection }
  | { readonly action: 'untrack'; readonly series: readonly string[] }
  | { readonly action: 'cancel'; readonly backfill: number }
  /** @param source absent: all of them. */
  | { readonly action: 'pause' | 'resume'; readonly source?: string | undefined }
  /** @param perMinute null: all that the source allows. */
  | { readonly action: 'budget'; readonly source: string; readonly perMinute: number | null };

/** Actions that make requests over a range. */
export type CostRequest = Extract<ActionRequest, OfSeries & { readonly action: 'retry' | 'verify' | 'repair' }>;

export interface ActionContext {
  /** Who asks for it. */
  readonly by: string;
  readonly signal: AbortSignal;
  readonly progress: WindowProgress;
}
