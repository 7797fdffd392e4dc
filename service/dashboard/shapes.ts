/** What the dashboard's server sends to its page: both sides are checked against these. Times and lengths in milliseconds. */

import type { EpochMs } from '../../contract/intervals.ts';

/** One tracked series in the list. */
export interface SeriesLine {
  readonly id: number;
  readonly name: string;
  readonly fromMs: EpochMs;
  /** Null: followed into the future. */
  readonly toMs: EpochMs | null;
  /** Tracked range up to the last closed period, and what of it is covered, confirmed to be empty, missing. */
  readonly wantedMs: number;
  readonly coveredMs: number;
  readonly emptyMs: number;
  readonly missingMs: number;
  /** Of the missing: what failed, and what answered empty once. */
  readonly failedMs: number;
  readonly awaitingMs: number;
  readonly gaps: number;
  /** The gap that reaches up to the present; 0: there is none. */
  readonly behindMs: number;
  /** Requests that the missing takes, and that all of the wanted took or takes. */
  readonly requestsLeft: number;
  readonly requests: number;
  readonly points: number;
  readonly newestMs: EpochMs | null;
  readonly revised: number;
  /** What the source said, where it refuses the series as a whole. */
  readonly blocked: string | null;
  /** Windows in the queue or under way. */
  readonly inFlight: number;
  /** Changes with everything that is stored of the series' coverage. */
  readonly version: string;
}

/** Requests by minute and lane; the last minute is the running one. */
export interface RequestMinutes {
  readonly startMs: EpochMs;
  readonly lanes: Readonly<Record<string, readonly number[]>>;
  /** Of all, those that gave nothing to store. */
  readonly failed: readonly number[];
}

export interface QueueLook {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly workers: number;
  readonly pausedMs: number;
}

export interface ListLine {
  readonly name: string;
  readonly everyMs: number;
  readonly newestMs: EpochMs | null;
  readonly rows: number | null;
  readonly problem: string | null;
}

export interface Summary {
  readonly nowMs: EpochMs;
  /** All that is shown is simulated. */
  readonly synthetic: boolean;
  /** Requests a minute; 0: the source has no limit. */
  readonly perMinute: number;
  readonly requests: RequestMinutes;
  /** Null: the queue cannot be asked. */
  readonly queue: QueueLook | null;
  /** What the source says in place of data. */
  readonly notice: { readonly timeMs: EpochMs; readonly message: string } | null;
  readonly lists: readonly ListLine[];
  /** Rows in quarantine among the newest few hundred, and whether there are older ones beside. */
  readonly quarantined: { readonly rows: number; readonly hasOlder: boolean };
  readonly database: string;
}

/** Event `snapshot`: everything; event `change`: the lines that changed, and the ids of those that are not tracked any more. */
export interface Snapshot {
  readonly summary: Summary;
  readonly series: readonly SeriesLine[];
}
export interface Change extends Snapshot {
  readonly gone: readonly number[];
}

/** Event `trouble`: the store could not be read; what was sent before still stands. */
export interface Trouble {
  readonly message: string;
}

export const layers = ['tracked', 'covered', 'empty', 'gap', 'failed', 'inFlight'] as const;
export type Layer = (typeof layers)[number];

/**
 * A range cut into columns, and of each layer the columns that hold some of it, as flat pairs: first, and one past the
 * last. Layers come in drawing order, so that a gap of a minute shows in eleven years.
 */
export interface Band {
  readonly id: number;
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
  readonly columns: number;
  readonly layers: Readonly<Record<Layer, readonly number[]>>;
}

/** `[time, open, high, low, close, volume]`, or `[time, price]`: decimals as text, with every digit. */
export type PointRow = readonly [EpochMs, ...string[]];

export interface Points {
  /** Candles of the interval; or a line of prices, of which each is the last one of its period. */
  readonly kind: 'candles' | 'line';
  readonly interval: string;
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
  /** Each is the last value in its period, taken from the stored ones; highs and lows between are not in it. */
  readonly sampled: boolean;
  readonly rows: readonly PointRow[];
  readonly band: Band;
}

export interface SeriesDetail {
  readonly id: number;
  readonly name: string;
  readonly dataset: 'candles' | 'asset_history';
  readonly interval: string;
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs | null;
  readonly untrackedMs: EpochMs | null;
  readonly beginsMs: EpochMs | null;
  readonly earliestMs: EpochMs | null;
  readonly newestMs: EpochMs | null;
  readonly gaps: readonly {
    readonly startMs: EpochMs;
    readonly endMs: EpochMs;
    readonly reason: string;
    readonly message: string | null;
  }[];
  readonly gapsInAll: number;
  readonly fetches: readonly {
    readonly timeMs: EpochMs;
    readonly startMs: EpochMs | null;
    readonly endMs: EpochMs | null;
    readonly lane: string;
    readonly verdict: string;
    readonly fresh: number;
    readonly changed: number;
    readonly durationMs: number;
    readonly error: string | null;
  }[];
  readonly revisions: readonly {
    readonly timeMs: EpochMs;
    readonly seenAtMs: EpochMs;
    readonly before: Readonly<Record<string, string>>;
  }[];
  readonly rejections: readonly {
    readonly seenAtMs: EpochMs;
    readonly reason: string;
    readonly raw: string;
  }[];
}

export interface Problems {
  /** Series that the source refuses, then windows that failed, newest first; and how many of both there are in all. */
  readonly failing: readonly {
    readonly seriesId: number;
    readonly name: string;
    /** Null: the whole series is refused. */
    readonly window: { readonly startMs: EpochMs; readonly endMs: EpochMs } | null;
    readonly message: string;
    readonly retryMs: EpochMs;
  }[];
  readonly failingInAll: number;
  /** Requests of the last hour that gave nothing, by kind. */
  readonly errors: readonly {
    readonly kind: string;
    readonly requests: number;
    readonly newestMs: EpochMs;
    readonly message: string;
  }[];
  readonly quarantine: readonly {
    readonly dataset: string;
    readonly seriesId: number | null;
    readonly name: string | null;
    readonly seenAtMs: EpochMs;
    readonly reason: string;
    readonly raw: string;
  }[];
  readonly revised: readonly { readonly seriesId: number; readonly name: string; readonly values: number }[];
}
