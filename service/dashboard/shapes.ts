/** Types of the messages from the dashboard's server to its page. Times and lengths are milliseconds. */

import { candleIntervals, type EpochMs, type Interval, intervalMs } from '../../contract/intervals.ts';

/** One tracked series in the list. */
export interface SeriesLine {
  readonly id: number;
  readonly name: string;
  readonly fromMs: EpochMs;
  /** Null: tracked into the future. */
  readonly toMs: EpochMs | null;
  /** The tracked range up to the last closed period, and its covered, confirmed empty and missing parts. */
  readonly wantedMs: number;
  readonly coveredMs: number;
  readonly emptyMs: number;
  readonly missingMs: number;
  /** Parts of the missing range: failed windows, and windows with one empty response. */
  readonly failedMs: number;
  readonly awaitingMs: number;
  readonly gaps: number;
  /** Length of the gap that reaches the present; 0: none. */
  readonly behindMs: number;
  /** Requests for the missing range, and for the whole tracked range. */
  readonly requestsLeft: number;
  readonly requests: number;
  readonly points: number;
  readonly newestMs: EpochMs | null;
  readonly revised: number;
  /** The source's message when it refuses the whole series. */
  readonly blocked: string | null;
  /** Queued and active windows. */
  readonly inFlight: number;
  /** Changes whenever the stored coverage of the series changes. */
  readonly version: string;
}

/** Requests by minute and lane; the last minute is the current one. */
export interface RequestMinutes {
  readonly startMs: EpochMs;
  readonly lanes: Readonly<Record<string, readonly number[]>>;
  /** Requests of all lanes that stored nothing. */
  readonly failed: readonly number[];
}

export interface QueueSummary {
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
  /** Whether the source is a simulator. */
  readonly synthetic: boolean;
  /** Budget in requests a minute; 0: unlimited. */
  readonly perMinute: number;
  readonly requests: RequestMinutes;
  /** Null: the queue is unavailable. */
  readonly queue: QueueSummary | null;
  /** The message that the source sends instead of data. */
  readonly notice: { readonly timeMs: EpochMs; readonly message: string } | null;
  readonly lists: readonly ListLine[];
  /** Quarantined rows, counted among the newest few hundred, and whether there are older ones. */
  readonly quarantined: { readonly rows: number; readonly hasOlder: boolean };
  readonly database: string;
}

/** Event `snapshot`: the whole state. Event `change`: the changed lines, and the ids of series no longer tracked. */
export interface Snapshot {
  readonly summary: Summary;
  readonly series: readonly SeriesLine[];
}
export interface Change extends Snapshot {
  readonly gone: readonly number[];
}

/** Event `trouble`: the store cannot be read. The state sent before stays on the page. */
export interface Trouble {
  readonly message: string;
}

export const layers = ['tracked', 'covered', 'empty', 'gap', 'failed', 'inFlight'] as const;
export type Layer = (typeof layers)[number];

/**
 * A range divided into columns. Each layer lists the columns that contain it as flat pairs of first and one past the
 * last. The layers are in drawing order, so that a gap of one minute is visible in eleven years.
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
  /** Candles, or a line of prices of which each is the last in its period. */
  readonly kind: 'candles' | 'line';
  readonly interval: string;
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
  /** Whether each value is the last stored one of its period, without the highs and lows between. */
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
  /** Refused series, then failed windows, newest first; `failingInAll` counts both. */
  readonly failing: readonly {
    readonly seriesId: number;
    readonly name: string;
    /** Null: the source refuses the whole series. */
    readonly window: { readonly startMs: EpochMs; readonly endMs: EpochMs } | null;
    readonly message: string;
    readonly retryMs: EpochMs;
  }[];
  readonly failingInAll: number;
  /** Failed requests of the last hour by kind. */
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
  /** Tidemark's statements that wait for locks, and the sessions that hold them. */
  readonly locks: { readonly statements: number; readonly holders: readonly string[] };
  /** TimescaleDB background jobs that fail or that no worker runs. */
  readonly jobs: readonly {
    readonly kind: string;
    /** The table or rollup; null for other jobs. */
    readonly of: string | null;
    readonly lastRunMs: EpochMs | null;
    readonly failures: number;
    readonly message: string;
  }[];
}

/** Largest number of periods in one response of points. */
export const maxPeriods = 2000;

/** The intervals of a series' chart: its own, and each coarser one that consists of whole periods of it. */
export function chartIntervals(own: Interval): Interval[] {
  return [
    own,
    ...candleIntervals.filter(
      (one) => intervalMs[one] > intervalMs[own] && intervalMs[one] % intervalMs[own] === 0,
    ),
  ];
}

/** The finest interval with at most `most` periods in the range, or else the coarsest. */
export function chartInterval(own: Interval, spanMs: EpochMs, most: number): Interval {
  const intervals = chartIntervals(own);
  return intervals.find((one) => spanMs / intervalMs[one] <= most) ?? intervals.at(-1) ?? own;
}
