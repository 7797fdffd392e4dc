/**
 * How far the work is, in the same words on every screen; progress reports of operations, and the estimator of their
 * rate. Nothing here needs Node: the page uses it.
 */

import type { Clock } from '../clock.ts';
import {
  aboutText,
  counted,
  formatCount,
  formatDuration,
  formatPercent,
  formatTime,
  kindsText,
  nonEmpty,
} from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import { type Reason, reasons } from '../model/reasons.ts';
import type { SeriesKey } from '../model/series.ts';
import { defaultSource, sourceText } from '../model/sources.ts';
import { sum } from '../model/sum.ts';
import { addSample, atMost, perMs, type Sample, settledMs, timeLeftMs } from './rate.ts';

/** Of ranges: the requests that fetch them as a whole, their length, and its covered part. */
export interface Extent {
  readonly requests: number;
  readonly wantedMs: number;
  readonly coveredMs: number;
}

/** Of tracked series. What a source refuses as a whole is not requested for now. */
export function extentOf(rows: ReadonlyArray<Extent & { readonly blocked: string | null }>): Extent {
  return {
    requests: sum(rows.map(({ requests, blocked }) => (blocked === null ? requests : 0))),
    wantedMs: sum(rows.map(({ wantedMs }) => wantedMs)),
    coveredMs: sum(rows.map(({ coveredMs }) => coveredMs)),
  };
}

/** `136 of 147 requests to go`. @param requests in all; absent: unknown. @param noun what is counted. */
export function toGoText(left: number, requests?: number, noun: 'request' | 'window' = 'request'): string {
  if (requests === undefined) return `${counted(left, noun)} to go`;
  // Holes in what is covered take more requests than the range as a whole.
  return `${formatCount(left)} of ${counted(Math.max(left, requests), noun)} to go`;
}

/** `27.28 % covered`: of the length of the ranges. */
export function coveredText({ wantedMs, coveredMs }: Omit<Extent, 'requests'>): string {
  return `${formatPercent(coveredMs, wantedMs)} covered`;
}

/** `136 of 147 requests to go, about 15 min, 27.28 % covered`. */
export function progressText(of: Extent & { readonly left: number; readonly etaMs: number | null }): string {
  const { left, etaMs } = of;
  const when = left === 0 || etaMs === null ? '' : aboutText(etaMs);
  return nonEmpty([toGoText(left, of.requests), when, coveredText(of)]).join(', ');
}

/** A missing range that is requested again later. */
export interface WaitingRange {
  /** Why. */
  readonly cause: Reason;
  readonly retryAtMs: EpochMs;
}

/** What of these gaps is requested again later. */
export function waitingOf(gaps: ReadonlyArray<{ cause: Reason; retryAtMs: EpochMs | null }>, nowMs: EpochMs) {
  return gaps.flatMap(({ cause, retryAtMs }): WaitingRange[] =>
    reasons[cause].isRequestable && retryAtMs !== null && retryAtMs > nowMs ? [{ cause, retryAtMs }] : [],
  );
}

/**
 * Of ranges of which nothing can be requested now: `2 ranges are asked again, the first at 2026-01-31 06:00Z (failed,
 * refused by the source), 27.28 % covered`.
 */
export function waitingText(extent: Omit<Extent, 'requests'>, waiting: readonly WaitingRange[]): string {
  const times = new Set(waiting.map(({ retryAtMs }) => Math.ceil(retryAtMs / 1000) * 1000));
  const firstMs = [...times].reduce((first, timeMs) => Math.min(first, timeMs), Number.POSITIVE_INFINITY);
  const why = [...new Set(waiting.map(({ cause }) => reasons[cause].words))].join(', ');
  const verb = waiting.length === 1 ? 'is' : 'are';
  const again = `asked again${times.size > 1 ? ', the first' : ''} at ${formatTime(firstMs)} (${why})`;
  return `${counted(waiting.length, 'range')} ${verb} ${again}, ${coveredText(extent)}`;
}

/** Requests that were made for a backfill. */
export interface Answers {
  readonly requests: number;
  readonly points: number;
  /** Requests by kind of answer; those that failed are in `failures`. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly failures: ReadonlyArray<{ readonly kind: string; readonly requests: number; readonly message: string }>;
}

/** `12 requests made: 7 failed, 5 filled; 90 new points`: each of those that are to go may take several. */
export function madeText({ requests, points, kinds, failures }: Answers): string {
  const failed = sum(failures.map((one) => one.requests));
  const of = kindsText({ ...kinds, failed });
  return `${counted(requests, 'request')} made${of === '' ? '' : `: ${of}`}; ${counted(points, 'new point')}`;
}

export interface Portion {
  readonly series: SeriesKey;
  readonly wantedMs: number;
  readonly doneMs: number;
  /** Requests to go, and those of the whole range. */
  readonly left: number;
  readonly requests: number;
}

export interface BackfillState {
  /** The ranges, and their progress. */
  readonly series: readonly Portion[];
  /** New points so far. */
  readonly points: number;
  /** Requests of all lanes in the last minute, and the budget; 0: no limit. */
  readonly lastMinute: number;
  readonly perMinute: number;
  /** Failed requests of these series by kind. */
  readonly failures: Readonly<Record<string, number>>;
  /** Remaining pause of the queue. */
  readonly pausedMs: number;
  /** Null: unknown. */
  readonly etaMs: number | null;
  /** Deferred ranges that are awaited while nothing else is left. */
  readonly awaited: number;
}

interface Progress<State> {
  update(state: State): void;
  stop(): void;
}

export interface BackfillProgress extends Progress<BackfillState> {
  /** Prints a permanent line. Later progress is drawn below it. */
  say(what: string): void;
}

/** Shorter pauses are the limiter's own spacing. */
const longPauseMs = 2000;

/** Whether the source has paused the queue. */
export function isPausedBySource(pausedMs: number): boolean {
  return pausedMs > longPauseMs;
}

/**
 * `paused for 1 min` where every source is, until the first of them goes on; else `binance paused for 1 min`; empty:
 * none is.
 */
export function pausesText(sources: readonly PausedSource[]): string {
  const paused = sources.filter(({ pausedMs }) => isPausedBySource(pausedMs));
  const [first] = paused.toSorted((one, other) => one.pausedMs - other.pausedMs);
  if (first === undefined) return '';
  if (paused.length === sources.length) return `paused for ${formatDuration(first.pausedMs)}`;
  if (paused.length > maxNamed) return `${formatCount(paused.length)} of ${formatCount(sources.length)} sources paused`;
  return paused
    .map(({ source, pausedMs }) => `${sourceText(source, true)} paused for ${formatDuration(pausedMs)}`)
    .join(', ');
}

export interface PausedSource {
  readonly source: string;
  /** How long no request starts. */
  readonly pausedMs: number;
}

/** Sources in use: the default one where there is none. */
export function pausesOf(queues: readonly PausedSource[], inUse: readonly string[]): PausedSource[] {
  const names = inUse.length === 0 ? [defaultSource] : inUse;
  return queues.filter(({ source }) => names.includes(source)).map(({ source, pausedMs }) => ({ source, pausedMs }));
}

/** Paused sources that are named each. */
const maxNamed = 2;

export class RateEstimator {
  #seen: readonly Sample[] = [];
  readonly #clock: Pick<Clock, 'monotonicMs'>;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  addDone(done: number): void {
    this.#seen = addSample(this.#seen, { atMs: this.#clock.monotonicMs(), done });
  }

  /** Null: unknown. */
  perSecond(): number | null {
    const rate = perMs(this.#seen);
    return rate === null ? null : rate * 1000;
  }

  /** @param perMinute the limit; 0: none. @returns null: unknown, as in the first half a minute. */
  timeLeftMs(left: number, perMinute = 0): number | null {
    const rate = perMs(this.#seen, settledMs);
    return timeLeftMs(left, rate === null ? null : atMost(rate, perMinute));
  }
}

export interface WindowsLeft {
  readonly done: number;
  readonly of: number;
  /** 0: no limit. */
  readonly perMinute: number;
  /** Remaining pause of the queue. */
  readonly pausedMs: number;
  /** Queued windows with a higher priority. */
  readonly ahead: number;
}

export type WindowProgress = Progress<WindowsLeft>;
/** Of the number of points that are done. */
export type PointProgress = Progress<number>;

/** Starts a progress display. @param of the total; null: unknown. */
export type ShowPoints = (what: string, of: number | null) => PointProgress;

/**
 * States what a command does from now on; shown when it takes long. Null: it waits for its user, or runs until it is
 * stopped.
 *
 * @param progress such as `3 of 12 done`.
 * @returns the phase before, without its progress.
 */
export type ShowPhase = (what: string | null, progress?: string) => string | null;
