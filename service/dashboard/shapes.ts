/** Types of the messages from the dashboard's server to its page. Times and lengths are milliseconds. */

import {
  candleIntervals,
  type EpochMs,
  type Interval,
  intervalMs,
  type Range,
} from '../../contract/intervals.ts';
import type { CalendarMonth } from '../../planning/calendar.ts';
import type { Headline, State } from '../../planning/conditions.ts';
import type {
  ChartPoints,
  FailedRequests,
  Failure,
  FailureCause,
  ListContents,
  PointRow,
  QuarantinedRow,
  RecordedAction,
  RevisedSeries,
  StoredBytes,
  StoredEvent,
  StoredLine,
} from '../../store/dashboard/shapes.ts';

export type { ListContents, PointRow, StoredBytes, StoredEvent };

export interface SeriesLine extends StoredLine {
  /** Queued and active windows. */
  readonly inFlight: number;
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
  /** What `tidemark status` says: the headline, further conditions, the windows left and their ETA. */
  readonly state: State;
  /** Budget in requests a minute; 0: unlimited. */
  readonly perMinute: number;
  readonly requests: RequestMinutes;
  /** Null: the queue is unavailable. */
  readonly queue: QueueSummary | null;
  /** What the source answers in place of data. */
  readonly serviceMessage: { readonly timeMs: EpochMs; readonly message: string } | null;
  readonly lists: readonly ListLine[];
  /** Quarantined rows, counted among the newest few hundred, and whether there are older ones. */
  readonly quarantined: { readonly rows: number; readonly hasOlder: boolean };
  readonly database: string;
}

/**
 * Event `snapshot`: the whole state. Event `change`: the changed lines, and the ids of series no longer tracked. Event
 * `trouble`: the store cannot be read, and the state sent before stays on the page, under the headline of the event.
 */
export interface Snapshot {
  readonly summary: Summary;
  readonly series: readonly SeriesLine[];
}
/** An action at the dashboard, newest first in its list. */
export interface ActionLine extends RecordedAction {
  /** Windows of a running verify or repair in the process that answers; null: none. */
  readonly progress: { readonly done: number; readonly of: number } | null;
}

export interface Trouble {
  readonly message: string;
  readonly headline: Headline;
}
export interface Change extends Snapshot {
  readonly gone: readonly number[];
}

export const layers = ['tracked', 'covered', 'empty', 'gap', 'failed', 'inFlight'] as const;
export type Layer = (typeof layers)[number];

/**
 * A range divided into columns. Each layer lists the columns that contain it as flat pairs of first and one past the
 * last. The layers are in drawing order, so that a gap of one minute is visible in eleven years.
 */
export interface Band extends Range {
  readonly id: number;
  readonly columns: number;
  readonly layers: Readonly<Record<Layer, readonly number[]>>;
}

export interface Points extends ChartPoints, Range {
  readonly interval: string;
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
  readonly gaps: readonly (Range & { readonly reason: string; readonly message: string | null })[];
  readonly gapsInAll: number;
  readonly fetches: readonly {
    readonly timeMs: EpochMs;
    readonly range: Range | null;
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
  readonly failing: readonly Failure[];
  readonly failingInAll: number;
  /** The same by message, the most frequent first. */
  readonly causes: readonly FailureCause[];
  /** Of the last hour, by kind. */
  readonly errors: readonly FailedRequests[];
  readonly quarantine: readonly QuarantinedRow[];
  readonly revised: readonly RevisedSeries[];
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

/** Coverage by month, of one series or of all together. */
export interface Calendar {
  readonly months: readonly CalendarMonth[];
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
