/** Answers of the model's source, good and bad, as its client would hand them to the store. */

import fc from 'fast-check';
import { type EpochMs, intervalMs, periodStart } from '../../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../../contract/resources.ts';
import { hasOpenPoint } from '../../planning/closed.ts';
import type { Range } from '../../planning/ranges.ts';
import type { RejectedRow } from '../../store/quarantine.ts';
import { graceMs } from './series-model.ts';
import { rowOf, type Truth, type Values } from './truth.ts';

export interface AnswerPlan {
  /** `whole`: all that the source has. `cut`: the first few. `empty`: nothing. `unreadable`: no row that is one. */
  readonly kind: 'whole' | 'cut' | 'empty' | 'unreadable' | 'strangers';
  /** Rows of a `cut`. */
  readonly rows: number;
  /** Whether one row among the good ones is broken. */
  readonly oneBroken: boolean;
  /** Rows from beside the window, twice the same, and in disorder. */
  readonly untidy: boolean;
  /** The source's clock: as ours, not told, minutes off, or of a copy that is older than the window. */
  readonly clock: 'right' | 'none' | 'behind' | 'ahead' | 'stale';
  /** A copy of an older answer, with older values. */
  readonly old: boolean;
}

/** What the source says of a window. */
export interface Answered {
  readonly rows: ReadonlyArray<Candle | HistoryPoint>;
  readonly rejected: readonly RejectedRow[];
  readonly sourceTimeMs: EpochMs | null;
  readonly durationMs: number;
  /** The rows within the window that can be read, by time, but for those of a stale copy that were not final there. */
  readonly points: ReadonlyMap<EpochMs, Values>;
  /** Whether the source has more in the window than it gave. */
  readonly isShort: boolean;
  /** Rows came, and none of them is of any use. */
  readonly isUseless: boolean;
}

const seldom = fc.integer({ min: 0, max: 5 }).map((die) => die === 5);

export const answerPlan: fc.Arbitrary<AnswerPlan> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('whole' as const) },
    { weight: 3, arbitrary: fc.constant('cut' as const) },
    { weight: 4, arbitrary: fc.constant('empty' as const) },
    { weight: 1, arbitrary: fc.constantFrom('unreadable' as const, 'strangers' as const) },
  ),
  rows: fc.integer({ min: 1, max: 8 }),
  oneBroken: seldom,
  untidy: seldom,
  clock: fc.oneof(
    { weight: 6, arbitrary: fc.constant('right' as const) },
    { weight: 4, arbitrary: fc.constantFrom('none' as const, 'behind', 'ahead', 'stale') },
  ),
  old: seldom,
});

/** @param cap rows that the source gives at most, whatever is asked for; null: no cap. */
export function answerTo(
  truth: Truth,
  window: Range,
  plan: AnswerPlan,
  at: { nowMs: EpochMs; cap: number | null },
): Answered {
  const { series } = truth;
  const length = intervalMs[series.interval];
  const durationMs = 200;
  const sourceTimeMs = clockOf(plan.clock, window, at.nowMs);
  // What there was when the source answered: the period that runs then is the last.
  const untilMs = sourceTimeMs === null ? at.nowMs - durationMs : Math.min(sourceTimeMs, at.nowMs);
  const newestMs = periodStart(untilMs, series.interval) - (hasOpenPoint(series) ? 0 : length);
  const times: EpochMs[] = [];
  for (let timeMs = window.startMs; timeMs < window.endMs && timeMs <= newestMs; timeMs += length) {
    if (truth.has(timeMs)) times.push(timeMs);
  }
  const most = Math.min(plan.kind === 'cut' ? plan.rows : times.length, at.cap ?? times.length);
  const given = plan.kind === 'whole' || plan.kind === 'cut' ? times.slice(0, most) : [];
  const broken = plan.oneBroken && given.length > 2 ? given[1] : undefined;
  const points = new Map<EpochMs, Values>();
  for (const timeMs of given) {
    if (timeMs !== broken) points.set(timeMs, truth.valuesAt(timeMs, at.nowMs, plan.old ? 1 : 0));
  }
  const rows = [...points].map(([timeMs, values]) => rowOf(series, timeMs, values));
  const closedMs = periodStart(at.nowMs - graceMs, series.interval);
  const closedThereMs = periodStart(sourceTimeMs ?? at.nowMs - durationMs, series.interval);
  for (const timeMs of points.keys()) {
    if (timeMs >= closedThereMs && timeMs < closedMs) points.delete(timeMs);
  }
  if (plan.kind === 'strangers') {
    rows.push(rowOf(series, window.startMs - 9 * length, truth.valuesAt(window.startMs, at.nowMs)));
  }
  const rejected =
    plan.kind === 'unreadable' || broken !== undefined
      ? [{ raw: `{"broken":${broken ?? window.startMs}}`, reason: 'open: not a decimal' }]
      : [];
  return {
    rows: plan.untidy ? untidied(rows, truth, window, at.nowMs) : rows,
    rejected,
    sourceTimeMs,
    durationMs,
    points,
    isShort: given.length < times.length,
    isUseless: points.size === 0 && (rejected.length > 0 || plan.kind === 'strangers'),
  };
}

function clockOf(clock: AnswerPlan['clock'], window: Range, nowMs: EpochMs): EpochMs | null {
  switch (clock) {
    case 'right':
      return nowMs;
    case 'none':
      return null;
    case 'behind':
      return nowMs - 5 * 60_000;
    case 'ahead':
      return nowMs + 5 * 60_000;
    case 'stale':
      return Math.floor((window.startMs + Math.min(window.endMs, nowMs)) / 2);
  }
}

function untidied(
  rows: ReadonlyArray<Candle | HistoryPoint>,
  truth: Truth,
  window: Range,
  nowMs: EpochMs,
): ReadonlyArray<Candle | HistoryPoint> {
  const [first] = rows;
  if (first === undefined) return rows;
  const timeMs = 'period' in first ? first.period : first.time;
  const wrong = rowOf(
    truth.series,
    timeMs,
    truth.valuesAt(timeMs, nowMs).map((text) => `${text}9`),
  );
  const after = rowOf(truth.series, window.endMs, truth.valuesAt(window.endMs, nowMs));
  // The last of a duplicate counts.
  return [wrong, after, ...rows.slice(1), first];
}
