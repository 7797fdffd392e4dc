/** What the dashboard reads from the store, as it reaches the page. Times and lengths are milliseconds. */

import type { EpochMs } from '../../contract/intervals.ts';

/** One tracked series in the list. */
export interface StoredLine {
  readonly id: number;
  readonly name: string;
  /** Null: of an asset, not of a market. */
  readonly exchange: string | null;
  readonly interval: string;
  readonly periodMs: number;
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
  /** Changes whenever the stored coverage of the series changes. */
  readonly version: string;
}

/** `[time, open, high, low, close, volume]`, or `[time, price]`: decimals as text, with every digit. */
export type PointRow = readonly [EpochMs, ...string[]];

export interface ChartPoints {
  /** Candles, or a line of prices of which each is the last in its period. */
  readonly kind: 'candles' | 'line';
  /** Whether each value is the last stored one of its period, without the highs and lows between. */
  readonly sampled: boolean;
  readonly rows: readonly PointRow[];
}

export interface Failure {
  readonly seriesId: number;
  readonly name: string;
  /** Null: the source refuses the whole series. */
  readonly window: { readonly startMs: EpochMs; readonly endMs: EpochMs } | null;
  readonly message: string;
  /** Earliest time of the next attempt. */
  readonly retryMs: EpochMs;
}

/** Failures with the same message. */
export interface FailureCause {
  readonly message: string;
  readonly series: number;
  readonly ranges: number;
  /** Earliest time of the next attempt. */
  readonly nextMs: EpochMs;
  /** Whether the source refuses whole series for it. */
  readonly isRefused: boolean;
}

/** Failed requests of one kind. */
export interface FailedRequests {
  readonly kind: string;
  readonly requests: number;
  readonly newestMs: EpochMs;
  readonly message: string;
}

export interface QuarantinedRow {
  readonly dataset: string;
  readonly seriesId: number | null;
  readonly name: string | null;
  readonly seenAtMs: EpochMs;
  readonly reason: string;
  /** The beginning of the row's text. */
  readonly raw: string;
}

export interface RevisedSeries {
  readonly seriesId: number;
  readonly name: string;
  readonly values: number;
}

/** An action at the dashboard. */
export interface RecordedAction {
  readonly id: number;
  readonly timeMs: EpochMs;
  readonly action: string;
  readonly request: unknown;
  readonly address: string;
  /** As the browser gave it beside the password; null: none. */
  readonly userName: string | null;
  /** `running` also if its process ended before it did. */
  readonly state: 'running' | 'done' | 'failed';
  readonly result: string | null;
  readonly endedMs: EpochMs | null;
}

export interface StoredBytes {
  readonly dataset: string;
  readonly bytes: number;
  /** The part in the columnstore. */
  readonly compressed: number;
}

export interface StoredEvent {
  readonly timeMs: EpochMs;
  /** Null: a moment. */
  readonly untilMs: EpochMs | null;
  readonly kind: string;
  readonly text: string;
  /** Null: of no series, or of a series that is no longer tracked. */
  readonly seriesId: number | null;
  readonly name: string | null;
}

/** Entries of a polled list. Cells are text with every digit. */
export interface ListContents {
  /** Names of the columns of `key`, and of `cells` and `before`. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Entries of the list; `rows` has the first of them. */
  readonly inAll: number;
  readonly rows: readonly {
    readonly key: readonly string[];
    readonly cells: readonly (string | null)[];
    /** The cells before the last change; null: there was none. */
    readonly before: readonly (string | null)[] | null;
    /** Time of the last change. */
    readonly sinceMs: EpochMs;
  }[];
  /** Entries that the source lists no more, the newest first. */
  readonly gone: readonly { readonly key: readonly string[]; readonly sinceMs: EpochMs }[];
}
