/**
 * The naive model of one series: its requests, its answers, and what the store may and must hold, period by period.
 *
 * It does not repeat the rules that evaluate an answer. It knows the limits of their result: coverage stays within
 * `mayCover`, which excludes periods outside any answer and periods that a cap removed, and contains `mustCover`, the
 * periods with received points.
 */

import { type EpochMs, intervalMs, periodStart } from '../../model/intervals.ts';
import { clip, type Range } from '../../model/ranges.ts';
import type { Answered } from './answers.ts';
import { areSame, type Truth, type Values } from './truth.ts';

export const graceMs = 60_000;
export const emptyConfirmMs = 3_600_000;
/**
 * An answer may be truncated if it has at least as many rows as every recent answer. A longer empty range always counts
 * as truncated.
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
  /** Null when the series is not tracked. */
  tracked: { startMs: EpochMs; endMs: EpochMs | null } | null = null;
  blockedUntilMs = 0;
  readonly points = new Map<EpochMs, Values>();
  /** `time seenAt`: the previous values. */
  readonly revisions = new Map<string, Values>();
  /** Revisions that exist only if another concurrent commit covered the period first. */
  readonly perhapsRevisions = new Map<string, Values>();
  readonly mustCover = new Set<EpochMs>();
  readonly mayCover = new Set<EpochMs>();
  /** The store's coverage after the last command. */
  covered: ReadonlySet<EpochMs> = new Set();
  readonly quarantined = new Set<string>();
  requests = 0;
  claimed: Range[] = [];
  #isProbed = false;
  readonly #empties: EmptyAnswer[] = [];
  /**
   * Empty answers since which no window of the series was deferred for another reason, which may need a further answer.
   */
  #undisturbed: EmptyAnswer[] = [];
  /** Rows of the largest answer so far, among all series with the same dataset and interval: they would share a cap. */
  readonly #largest: Map<string, number>;

  constructor(truth: Truth, seriesId: number, largest: Map<string, number>) {
    this.truth = truth;
    this.seriesId = seriesId;
    this.#largest = largest;
  }

  get #cap(): string {
    return `${this.truth.series.dataset} ${this.truth.series.interval}`;
  }

  get #maxRows(): number {
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

  /** The rows of an answer are counted before any answer committed with it is evaluated. */
  sawRows(answer: Answered): void {
    this.#largest.set(this.#cap, Math.max(this.#maxRows, rowsIn(answer)));
  }

  /**
   * An answer was committed.
   *
   * @param asked `requested` is the window with its witnesses; `isAlone`: no other window is committed with it.
   * @returns how it changed the points.
   */
  answered(
    asked: { readonly window: Range; readonly requested: Range; readonly isNewest: boolean },
    answer: Answered,
    nowMs: EpochMs,
    order: 'alone' | 'known' | 'unknown' = 'known',
  ): Counts {
    const { window, requested, isNewest } = asked;
    const { interval } = this.truth.series;
    this.requests += 1;
    for (const { raw } of answer.rejected) this.quarantined.add(raw);
    const isWithin = (timeMs: EpochMs) => timeMs >= window.startMs && timeMs < window.endMs;
    const points = new Map([...answer.points].filter(([timeMs]) => isWithin(timeMs)));
    // Witnesses are stored where the series was already covered, and dropped elsewhere.
    const witnesses = new Map([...answer.points].filter(([timeMs]) => !isWithin(timeMs) && this.covered.has(timeMs)));
    const known = new Set(this.points.keys());
    const fetched = this.#store(points, nowMs, order);
    const beside = this.#store(witnesses, nowMs, order);
    const counts = {
      fresh: fetched.fresh + beside.fresh,
      changed: fetched.changed + beside.changed,
      unchanged: fetched.unchanged,
    };
    const { shown } = answer;
    // A group whose windows give the same point is committed window by window: the earlier ones may cover it first.
    const wasCovered = (timeMs: EpochMs) =>
      this.covered.has(timeMs) || (order === 'known' && this.mayCover.has(timeMs));
    const isSilent = (timeMs: EpochMs) => wasCovered(timeMs) && !known.has(timeMs);
    const surprises = [...points.keys(), ...witnesses.keys()].filter(isSilent);
    if (shown !== null && surprises.length > 0) this.#reopen(surprises, shown, isSilent, order);
    // An empty range beside a stored point that the answer lacks proves nothing, and a range with points is not empty.
    const hull = shown === null ? null : { startMs: shown.startMs, endMs: shown.endMs + this.lengthMs };
    if (hull !== null) {
      this.refutesEmptiness(hull);
    }
    const sourceMs = Math.min(nowMs, answer.sourceTimeMs ?? nowMs - answer.durationMs);
    const closedMs = Math.min(window.endMs, this.closedUpToMs(nowMs), periodStart(sourceMs, interval));
    if (closedMs < Math.min(window.endMs, this.closedUpToMs(nowMs))) this.wasPutAside();
    const closed = { startMs: window.startMs, endMs: closedMs };
    const isBetweenWitnesses = shown !== null && shown.startMs < window.startMs && shown.endMs >= window.endMs;
    const isBroken = answer.brokenMs === null || (answer.brokenMs !== undefined && isWithin(answer.brokenMs));
    if (points.size === 0 && !isBetweenWitnesses && (answer.isUseless || isBroken)) {
      this.wasPutAside();
      return counts;
    }
    if (hull === null) {
      const isContradicted = [...known].some((timeMs) => within(requested, timeMs) && !isWithin(timeMs));
      // An answer to a window with witnesses is worthless if it lacks them.
      if (isContradicted) this.wasPutAside();
      else this.#sawNothing(closed, nowMs);
      return counts;
    }
    const proved = clip([hull], closed);
    for (const timeMs of this.periodsIn(proved)) {
      // A concurrent commit may find a point in a silence between two of these, which reopens it.
      if (order !== 'unknown' || points.has(timeMs)) this.mustCover.add(timeMs);
      this.mayCover.add(timeMs);
    }
    // A point of a period that is still open is beside the closed ones, like a witness.
    const isWitnessOnly = [...points.keys()].every((timeMs) => timeMs >= closedMs);
    for (const side of ['before', 'after'] as const) {
      const silence =
        side === 'before'
          ? { startMs: window.startMs, endMs: Math.min(hull.startMs, closedMs) }
          : { startMs: Math.max(hull.endMs, window.startMs), endMs: closedMs };
      const periods = this.periodsOf(silence);
      if (periods.length === 0) continue;
      if (this.#mayBelieve(answer, side, silence, isNewest, order))
        for (const timeMs of periods) this.mayCover.add(timeMs);
      // An answer without new points may mean that the rest of the window is empty.
      if (isWitnessOnly) this.#agree(silence, Number.NEGATIVE_INFINITY, this.#empties, this.mayCover);
      if (counts.fresh === 0 || order === 'unknown') this.#agree(silence, nowMs, this.#empties, this.mayCover);
    }
    return counts;
  }

  /** Removes the coverage of the empty ranges around such points, up to stored points. */
  #reopen(
    surprises: readonly EpochMs[],
    shown: Range,
    isSilent: (timeMs: EpochMs) => boolean,
    order: 'alone' | 'known' | 'unknown',
  ): void {
    const forget = (timeMs: EpochMs) => {
      this.mustCover.delete(timeMs);
      // Other windows committed at the same time may cover it.
      if (order === 'alone') this.mayCover.delete(timeMs);
    };
    // A point before the beginning removes the coverage of all empty ranges there, at any distance.
    if (this.#isProbed) this.#forgetEmptiness();
    const firstMs = Math.min(...surprises);
    const lastMs = Math.max(...surprises);
    if (firstMs <= shown.startMs)
      for (let timeMs = firstMs - this.lengthMs; isSilent(timeMs); timeMs -= this.lengthMs) forget(timeMs);
    if (lastMs >= shown.endMs)
      for (let timeMs = lastMs + this.lengthMs; isSilent(timeMs); timeMs += this.lengthMs) forget(timeMs);
  }

  /** Whether a rule that knows only the answers may accept the empty range at an edge of this one as a pause. */
  #mayBelieve(
    answer: Answered,
    side: 'before' | 'after',
    silence: Range,
    isNewest: boolean,
    order: 'alone' | 'known' | 'unknown',
  ): boolean {
    if (!answer.lacks[side] || !this.truth.isDense) return true;
    if (order !== 'unknown' && rowsIn(answer) >= this.#maxRows) return false;
    return isNewest && side === 'after' && silence.endMs - silence.startMs <= longestPauseMs;
  }

  #store(points: ReadonlyMap<EpochMs, Values>, nowMs: EpochMs, order: 'alone' | 'known' | 'unknown'): Counts {
    const counts: Counts = { fresh: 0, changed: 0, unchanged: 0 };
    for (const [timeMs, values] of points) {
      const before = this.points.get(timeMs);
      if (before === undefined) counts.fresh += 1;
      else if (areSame(before, values)) {
        counts.unchanged += 1;
        continue;
      } else {
        counts.changed += 1;
        // An open candle changes by nature.
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

  /** Two empty answers that agree, an hour apart, are accepted. */
  #agree(range: Range, nowMs: EpochMs, empties: EmptyAnswer[], believed: Set<EpochMs>): void {
    const periods = new Set(this.periodsOf(range));
    for (const earlier of empties) {
      if (nowMs - earlier.atMs < emptyConfirmMs) continue;
      for (const timeMs of periods) if (earlier.periods.has(timeMs)) believed.add(timeMs);
    }
    if (periods.size > 0) empties.push({ periods, atMs: nowMs });
  }

  /** A probe found an empty range, or a day that has points, which may revoke the results of earlier probes. */
  probed(empty: Range | null, nowMs: EpochMs): void {
    this.requests += 1;
    this.#isProbed = true;
    this.#forgetEmptiness();
    if (empty !== null) this.#agree(empty, nowMs, this.#empties, this.mayCover);
  }

  #forgetEmptiness(): void {
    for (const timeMs of [...this.mustCover]) if (!this.points.has(timeMs)) this.mustCover.delete(timeMs);
    this.wasPutAside();
  }

  /** Points were answered: empty answers that overlap them no longer count. */
  refutesEmptiness(points: Range): void {
    const overlapped = this.periodsOf(points);
    if (this.#undisturbed.some(({ periods }) => overlapped.some((timeMs) => periods.has(timeMs))))
      this.#undisturbed = [];
  }

  /** A window failed, or was answered too early to count. */
  wasPutAside(): void {
    this.#undisturbed = [];
  }

  /** Retention: points before the cut are deleted, and no longer required. */
  droppedBefore(cutMs: EpochMs): void {
    const started = periodStart(cutMs, this.truth.series.interval);
    const sinceMs = started === cutMs ? cutMs : started + this.lengthMs;
    for (const timeMs of [...this.points.keys()]) if (timeMs < cutMs) this.points.delete(timeMs);
    for (const key of [...this.revisions.keys()]) {
      if (Number(key.split(' ')[0]) < cutMs) this.revisions.delete(key);
    }
    // The range is still empty, but its coverage may be gone.
    this.wasPutAside();
    for (const set of [this.mustCover, this.mayCover]) {
      for (const timeMs of [...set]) if (timeMs < sinceMs) set.delete(timeMs);
    }
    if (this.tracked === null) return;
    const { startMs, endMs } = this.tracked;
    this.tracked = endMs !== null && endMs <= sinceMs ? null : { startMs: Math.max(startMs, sinceMs), endMs };
  }
}

function within({ startMs, endMs }: Range, timeMs: EpochMs): boolean {
  return timeMs >= startMs && timeMs < endMs;
}

/** Every row counts against a cap, valid or not. */
function rowsIn({ rows, rejected }: Answered): number {
  return rows.length + rejected.length;
}
