/**
 * The naive model of one series: what was asked, what came, and what a store may and must make of it, period by period.
 *
 * It does not repeat the rules by which an answer is judged. It knows what they must not claim (`mayCover`: a period
 * that no answer spoke of, or that a cap cut off) and what they must not lose (`mustCover`: what came).
 */

import { type EpochMs, intervalMs, periodStart } from '../../contract/intervals.ts';
import type { Range } from '../../planning/ranges.ts';
import type { Answered } from './answers.ts';
import { areSame, type Truth, type Values } from './truth.ts';

export const graceMs = 60_000;
export const emptyConfirmMs = 3_600_000;
/** A source that lists no more rows than it did of late may have been cut off; a longer silence always counts as that. */
const longestPauseMs = 2 * 3_600_000;

interface EmptyAnswer {
  readonly periods: ReadonlySet<EpochMs>;
  readonly atMs: EpochMs;
}

export interface Counts {
  fresh: number;
  changed: number;
  unchanged: number;
}

export class SeriesModel {
  readonly truth: Truth;
  readonly seriesId: number;
  /** Null before the series is tracked, and while it is not. */
  tracked: { startMs: EpochMs; endMs: EpochMs | null } | null = null;
  blockedUntilMs = 0;
  readonly points = new Map<EpochMs, Values>();
  /** `time seenAt`: the values before. */
  readonly revisions = new Map<string, Values>();
  readonly mustCover = new Set<EpochMs>();
  readonly mayCover = new Set<EpochMs>();
  /** What the store had covered after the last command. */
  covered: ReadonlySet<EpochMs> = new Set();
  readonly quarantined = new Set<string>();
  requests = 0;
  claimed: Range[] = [];
  readonly #empties: EmptyAnswer[] = [];
  /** Those since when nothing of the series was put aside for another reason, which may cost a further answer. */
  #undisturbed: EmptyAnswer[] = [];
  #mostRows = 0;

  constructor(truth: Truth, seriesId: number) {
    this.truth = truth;
    this.seriesId = seriesId;
  }

  get lengthMs(): number {
    return intervalMs[this.truth.series.interval];
  }

  periodsOf({ startMs, endMs }: Range): EpochMs[] {
    const periods: EpochMs[] = [];
    for (let timeMs = startMs; timeMs < endMs; timeMs += this.lengthMs) periods.push(timeMs);
    return periods;
  }

  periodsIn(ranges: readonly Range[]): EpochMs[] {
    return ranges.flatMap((range) => this.periodsOf(range));
  }

  closedUpToMs(nowMs: EpochMs): EpochMs {
    return periodStart(nowMs - graceMs, this.truth.series.interval);
  }

  /** The rows of an answer are counted before any of those committed with it is judged. */
  sawRows(answer: Answered): void {
    this.#mostRows = Math.max(this.#mostRows, rowsIn(answer));
  }

  /**
   * An answer was committed.
   *
   * @param order whether it is known which answers were committed before this one.
   * @returns what it did to the points.
   */
  answered(window: Range, answer: Answered, nowMs: EpochMs, order: 'known' | 'unknown' = 'known'): Counts {
    const { interval } = this.truth.series;
    this.requests += 1;
    for (const { raw } of answer.rejected) this.quarantined.add(raw);
    const fetched = this.#store(answer, nowMs);
    const sourceMs = Math.min(nowMs, answer.sourceTimeMs ?? nowMs - answer.durationMs);
    const closedMs = Math.min(window.endMs, this.closedUpToMs(nowMs), periodStart(sourceMs, interval));
    if (closedMs < Math.min(window.endMs, this.closedUpToMs(nowMs))) this.wasPutAside();
    const times = [...answer.points.keys()];
    if (times.length === 0) {
      if (answer.rows.length + answer.rejected.length > 0) this.wasPutAside();
      else this.#sawNothing({ startMs: window.startMs, endMs: closedMs }, nowMs);
      return fetched;
    }
    const reachedMs = Math.max(...times) + this.lengthMs;
    for (const timeMs of this.periodsOf({ startMs: window.startMs, endMs: Math.min(reachedMs, closedMs) })) {
      this.mustCover.add(timeMs);
      this.mayCover.add(timeMs);
    }
    const rest = { startMs: reachedMs, endMs: closedMs };
    // A silence of one period is slack: the newest point may be late.
    const left = this.periodsOf(rest).slice(0, this.#isSurelyCut(answer, rest) ? 1 : undefined);
    for (const timeMs of left) this.mayCover.add(timeMs);
    // What brought nothing new says of the rest that nothing is there.
    if (rest.startMs < rest.endMs && (fetched.fresh === 0 || order === 'unknown')) {
      // Perhaps: enough to allow that it is believed one day, not to expect it.
      if (order === 'unknown') this.wasPutAside();
      this.#sawNothing(rest, nowMs);
      if (order === 'unknown') this.wasPutAside();
    }
    return fetched;
  }

  /** Whether no rule that knows only the answers may take the silence at the end of this one for a pause. */
  #isSurelyCut(answer: Answered, rest: Range): boolean {
    if (!answer.isShort || !this.truth.isDense) return false;
    return rowsIn(answer) >= this.#mostRows || rest.endMs - rest.startMs > longestPauseMs;
  }

  #store(answer: Answered, nowMs: EpochMs): Counts {
    const counts: Counts = { fresh: 0, changed: 0, unchanged: 0 };
    for (const [timeMs, values] of answer.points) {
      const before = this.points.get(timeMs);
      if (before === undefined) counts.fresh += 1;
      else if (areSame(before, values)) {
        counts.unchanged += 1;
        continue;
      } else {
        counts.changed += 1;
        // That an open candle changes is its nature.
        if (this.covered.has(timeMs)) this.revisions.set(`${timeMs} ${nowMs}`, before);
      }
      this.points.set(timeMs, values);
    }
    return counts;
  }

  /** Two answers that agree, an hour apart, are believed. */
  #sawNothing(range: Range, nowMs: EpochMs): void {
    const periods = new Set(this.periodsOf(range));
    for (const [empties, set] of [
      [this.#empties, this.mayCover],
      [this.#undisturbed, this.mustCover],
    ] as const) {
      for (const earlier of empties) {
        if (nowMs - earlier.atMs < emptyConfirmMs) continue;
        for (const timeMs of periods) if (earlier.periods.has(timeMs)) set.add(timeMs);
      }
      if (periods.size > 0) empties.push({ periods, atMs: nowMs });
    }
  }

  /** A window failed, or was answered too early to count. */
  wasPutAside(): void {
    this.#undisturbed = [];
  }

  /** Retention: nothing from before the cut is kept, and nothing wanted. */
  droppedBefore(cutMs: EpochMs): void {
    const started = periodStart(cutMs, this.truth.series.interval);
    const sinceMs = started === cutMs ? cutMs : started + this.lengthMs;
    for (const timeMs of [...this.points.keys()]) if (timeMs < cutMs) this.points.delete(timeMs);
    for (const key of [...this.revisions.keys()]) {
      if (Number(key.split(' ')[0]) < cutMs) this.revisions.delete(key);
    }
    // That nothing was there remains true; it may be known no more.
    this.wasPutAside();
    for (const set of [this.mustCover, this.mayCover]) {
      for (const timeMs of [...set]) if (timeMs < sinceMs) set.delete(timeMs);
    }
    if (this.tracked === null) return;
    const { startMs, endMs } = this.tracked;
    this.tracked = endMs !== null && endMs <= sinceMs ? null : { startMs: Math.max(startMs, sinceMs), endMs };
  }
}

/** A cap counts every row, whatever it is worth. */
function rowsIn({ rows, rejected }: Answered): number {
  return rows.length + rejected.length;
}
