/**
 * What an answer proves about its window.
 *
 *   filled       It has points, of the window or beside it. Covered up to the last closed period.
 *   cut_short    A silence at the start or end of the window is not proved: the answer may be truncated there. Covered
 *                from its first to its last row; the rest stays a gap.
 *   empty        It has no rows. Not covered: a source in trouble answers so too.
 *   stale        The window has closed periods, but none had closed by the source's clock: a stale copy, or a slow
 *                clock. Nothing is covered.
 *   unreadable   It has rows, and none is valid or belongs to the window. Nothing is covered.
 *
 * A cap removes rows from one end of an answer, so no row is missing between two rows of it: periods between them are
 * covered without a point, since sources omit periods without a trade. A silence at an edge is proved by a row on
 * either side, which may be a witness from beside the window or an invalid row. The rest of a window is requested again
 * with the periods beside it (model/window.ts), so a dense market proves its pauses with one more request.
 *
 * A thin market pauses at the edge of every second answer, and would cost twice the requests. There a silence counts
 * without proof if the answer has pauses as long often enough, and fewer rows than another recent answer, which the
 * same cap would have truncated. So does a silence of up to two hours at the end of the newest data: the next refresh
 * reaches back over it.
 *
 * In a dataset of another density (proof.ts) no silence is a pause: what its points do not prove is cut off, and an
 * answer without points between two points of the series means that the source lacks them (store/commit).
 *
 * The period of an invalid row is covered. Its row is in quarantine, and a further request would return the same row.
 */

import { type EpochMs, hourMs, type Interval, intervalMs, periodStart } from '../model/intervals.ts';
import type { Range } from '../model/ranges.ts';
import type { Proof } from './proof.ts';

export type Verdict = 'filled' | 'cut_short' | 'empty' | 'stale' | 'unreadable';

/** A longer silence at the end of the newest data is requested again, however large other answers are. */
export const longestPauseMs = 2 * hourMs;
/** A thin market pauses at least once in so many points, each time at least as long as the silence. */
const pointsPerPause = 20;
/** Fewer pauses prove no habit: a dense market may have an outage. */
const fewestPauses = 3;

/**
 * Whether a stored point that the answer lacks lies before its first or after its last row, within the requested range.
 */
export interface Contradiction {
  readonly atStart: boolean;
  readonly atEnd: boolean;
}

export interface Evaluation {
  readonly verdict: Verdict;
  /** The part of the window that is covered, or, for an empty answer, is covered if a second one agrees. */
  readonly covered: Range | null;
  /** The closed parts of the window that a truncated answer leaves, on either side. */
  readonly rest: readonly Range[];
  /** Closed by our clock, but not by the source's: not requested again at once. */
  readonly stale: Range | null;
  /** Whether a covered silence has no row on one side: it counted as a pause of a thin market. */
  readonly isUnbounded: boolean;
  /** Whether stored points that the answer lacks show that it was truncated. */
  readonly isContradicted: boolean;
}

/**
 * @param timesMs starts of the answered periods within the window, ascending, distinct.
 * @param shown first and last row within the requested range, invalid rows and witnesses included; null: none.
 * @param links how long before them the points before these two were; null: they do not tell.
 * @param contradicted stored points that the answer lacks.
 * @param rejected invalid rows, except those beside the window. They are holes, not emptiness.
 * @param rejectedPeriods periods of the window with invalid rows only.
 * @param outOfRangeRows valid rows that belong neither to the window nor beside it.
 * @param rows all rows of the answer, as a cap counts them.
 * @param isWhole whether a checksum proves that no row was cut off; absent: it does not.
 * @param maxRows rows of the largest recent answer under the same cap.
 * @param isNewest whether the window is the newest data, which the next refresh reads again.
 * @param closedUpToMs end of the last closed period, by our clock.
 * @param answeredUpToMs the same by the source's clock, from the answer's timestamp.
 */
export function evaluateAnswer(input: {
  readonly window: Range;
  readonly interval: Interval;
  readonly proof: Proof;
  readonly timesMs: readonly EpochMs[];
  readonly shown: { readonly firstMs: EpochMs; readonly lastMs: EpochMs } | null;
  readonly links?: { readonly firstMs: number | null; readonly lastMs: number | null };
  readonly contradicted: Contradiction;
  readonly rejected: number;
  readonly rejectedPeriods: number;
  readonly outOfRangeRows: number;
  readonly rows: number;
  readonly isWhole?: boolean;
  readonly maxRows: number;
  readonly isNewest: boolean;
  readonly closedUpToMs: EpochMs;
  readonly answeredUpToMs: EpochMs;
}): Evaluation {
  const { window, timesMs, shown, contradicted } = input;
  const closedMs = Math.min(window.endMs, input.closedUpToMs);
  const endMs = Math.min(closedMs, input.answeredUpToMs);
  const stale = rangeOf(Math.max(window.startMs, input.answeredUpToMs), closedMs);
  const answered = rangeOf(window.startMs, endMs);
  const nothing = { rest: [], stale, isUnbounded: false, isContradicted: false };
  const isEmpty = timesMs.length === 0;
  const isBetweenWitnesses = shown !== null && shown.firstMs < window.startMs && shown.lastMs >= window.endMs;
  if (isEmpty && !isBetweenWitnesses && input.rejected + input.outOfRangeRows > 0)
    return { verdict: 'unreadable', covered: null, ...nothing };
  if (answered === null) {
    const verdict = stale !== null ? 'stale' : shown === null ? 'empty' : 'filled';
    return { verdict, covered: null, ...nothing };
  }
  if (shown === null) {
    if (!contradicted.atStart && !contradicted.atEnd) return { verdict: 'empty', covered: answered, ...nothing };
    return { verdict: 'cut_short', covered: null, ...nothing, rest: [answered], isContradicted: true };
  }
  const { start, end, range } = proved(input, answered, shown);
  const facts = {
    stale,
    isUnbounded: start === 'believed' || end === 'believed',
    isContradicted: (start === 'cut' && contradicted.atStart) || (end === 'cut' && contradicted.atEnd),
  };
  if (range === null) return { verdict: 'cut_short', covered: null, ...facts, rest: [answered] };
  const rest = [rangeOf(answered.startMs, range.startMs), rangeOf(range.endMs, answered.endMs)].filter(
    (left) => left !== null,
  );
  return { verdict: rest.length === 0 ? 'filled' : 'cut_short', covered: range, rest, ...facts };
}

type Edge = 'bounded' | 'believed' | 'cut';

/** The part of the window from which no cap can have removed rows. */
function proved(
  input: Parameters<typeof evaluateAnswer>[0],
  answered: Range,
  shown: { readonly firstMs: EpochMs; readonly lastMs: EpochMs },
): { readonly start: Edge; readonly end: Edge; readonly range: Range | null } {
  const { timesMs, interval, contradicted, proof, links } = input;
  const length = intervalMs[interval];
  // A week may begin on any day; its coverage begins on a Monday.
  const firstMs = Math.min(periodStart(shown.firstMs, interval), answered.endMs);
  const lastMs = periodStart(shown.lastMs, interval);

  /** Whether every period was answered. A history may have several points in a period. */
  function isWhole(): boolean {
    const periods = new Set(
      timesMs.filter((timeMs) => timeMs < answered.endMs).map((timeMs) => periodStart(timeMs, interval)),
    );
    return (periods.size + input.rejectedPeriods) * length >= answered.endMs - answered.startMs;
  }
  function edge(silenceMs: number, isContradicted: boolean, mayPause: boolean): Edge {
    if (silenceMs < length || input.isWhole === true || isWhole()) return 'bounded';
    if (isContradicted || input.rows >= input.maxRows) return 'cut';
    return proof.mayPause && (mayPause || isUsualPause(input, length, silenceMs)) ? 'believed' : 'cut';
  }
  const silentMs = answered.endMs - (lastMs + length);
  const first = { timeMs: shown.firstMs, linkMs: links?.firstMs ?? null };
  const last = { timeMs: shown.lastMs, linkMs: links?.lastMs ?? null };
  const start = proof.provesStart(first, answered.startMs)
    ? 'bounded'
    : edge(firstMs - answered.startMs, contradicted.atStart, false);
  const end =
    silentMs >= length && proof.believesEnd(last, answered.endMs)
      ? 'bounded'
      : edge(silentMs, contradicted.atEnd, input.isNewest && silentMs <= longestPauseMs);
  const range = rangeOf(
    start === 'cut' ? firstMs : answered.startMs,
    end === 'cut' ? Math.min(lastMs + length, answered.endMs) : answered.endMs,
  );
  return { start, end, range };
}

type Points = Pick<Parameters<typeof evaluateAnswer>[0], 'timesMs' | 'rejected'>;

/** Whether the points are as far apart often enough; in a very short answer all of them. */
function isUsualPause(points: Points, lengthMs: number, silenceMs: number): boolean {
  const pauses = pausesOf(points, lengthMs, silenceMs);
  const most = points.timesMs.length - 1;
  return pauses >= Math.min(fewestPauses, Math.max(1, most)) && pauses * pointsPerPause >= points.timesMs.length;
}

/** Number of pauses at least as long. An invalid row may lie in one of them. */
function pausesOf({ timesMs, rejected }: Points, lengthMs: number, silenceMs: number): number {
  let pauses = -rejected;
  for (const [place, timeMs] of timesMs.entries()) {
    const previousMs = timesMs[place - 1];
    if (previousMs !== undefined && timeMs - previousMs - lengthMs >= silenceMs) pauses += 1;
  }
  return pauses;
}

function rangeOf(startMs: EpochMs, endMs: EpochMs): Range | null {
  return startMs < endMs ? { startMs, endMs } : null;
}
