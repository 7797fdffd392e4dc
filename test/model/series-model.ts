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
/**
 * A source that lists no more rows than it did of late may have been cut off; a longer silence always counts as that.
 */
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
  /** Those that are kept if another commit of the same time covered the period first. */
  readonly perhapsRevisions = new Map<string, Values>();
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
  /** Rows of the largest answer so far, of all series with the same dataset and interval: they would share a cap. */
  readonly #largest: Map<string, number>;

  constructor(truth: Truth, seriesId: number, largest: Map<string, number>) {
    this.truth = truth;
    this.seriesId = seriesId;
    this.#largest = largest;
  }

  get #cap(): string {
    return `${this.truth.series.dataset} ${this.truth.series.interval}`;
  }

  get #mostRows(): number {
    return this.#largest.get(this.#cap) ?? 0;
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
    this.#largest.set(this.#cap, Math.max(this.#mostRows, rowsIn(answer)));
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
    const fetched = this.#store(answer, nowMs, order);
    const sourceMs = Math.min(nowMs, answer.sourceTimeMs ?? nowMs - answer.durationMs);
    const closedMs = Math.min(window.endMs, this.closedUpToMs(nowMs), periodStart(sourceMs, interval));
    if (closedMs < Math.min(window.endMs, this.closedUpToMs(nowMs))) this.wasPutAside();
    const times = [...answer.points.keys()];
    if (times.length === 0) {
      if (answer.isUseless) this.wasPutAside();
      else this.#sawNothing({ startMs: window.startMs, endMs: closedMs }, nowMs);
      return fetched;
    }
    const firstMs = Math.min(...times);
    const lastMs = Math.max(...times);
    const reachedMs = lastMs + this.lengthMs;
    this.#cover(this.mayCover, { startMs: window.startMs, endMs: Math.min(reachedMs, closedMs) });
    // A point beside a silence may be asked for again, to tell a cut from a pause.
    this.#cover(this.mustCover, {
      startMs: firstMs > window.startMs ? firstMs + this.lengthMs : window.startMs,
      endMs: Math.min(reachedMs < closedMs ? lastMs : reachedMs, closedMs),
    });
    const rest = { startMs: reachedMs, endMs: closedMs };
    // A silence of one period is slack: the newest point may be late.
    const left = this.periodsOf(rest).slice(0, this.#isSurelyCut(answer, rest) ? 1 : undefined);
    for (const timeMs of left) this.mayCover.add(timeMs);
    // What brought nothing new may be taken to say of the rest that nothing is there.
    if (fetched.fresh === 0 || order === 'unknown') this.#agree(rest, nowMs, this.#empties, this.mayCover);
    return fetched;
  }

  #cover(set: Set<EpochMs>, range: Range): void {
    for (const timeMs of this.periodsOf(range)) set.add(timeMs);
  }

  /** Whether no rule that knows only the answers may take the silence at the end of this one for a pause. */
  #isSurelyCut(answer: Answered, rest: Range): boolean {
    if (!answer.isShort || !this.truth.isDense) return false;
    return rowsIn(answer) >= this.#mostRows || rest.endMs - rest.startMs > longestPauseMs;
  }

  #store(answer: Answered, nowMs: EpochMs, order: 'known' | 'unknown'): Counts {
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
        const isKept = this.covered.has(timeMs);
        if (isKept) this.revisions.set(`${timeMs} ${nowMs}`, before);
        else if (order === 'unknown') this.perhapsRevisions.set(`${timeMs} ${nowMs}`, before);
      }
      this.points.set(timeMs, values);
    }
    return counts;
  }

  #sawNothing(range: Range, nowMs: EpochMs): void {
    this.#agree(range, nowMs, this.#empties, this.mayCover);
    this.#agree(range, nowMs, this.#undisturbed, this.mustCover);
  }

  /** Two empty answers that agree, an hour apart, are believed. */
  #agree(range: Range, nowMs: EpochMs, empties: EmptyAnswer[], believed: Set<EpochMs>): void {
    const periods = new Set(this.periodsOf(range));
    for (const earlier of empties) {
      if (nowMs - earlier.atMs < emptyConfirmMs) continue;
      for (const timeMs of periods) if (earlier.periods.has(timeMs)) believed.add(timeMs);
    }
    if (periods.size > 0) empties.push({ periods, atMs: nowMs });
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
