/** Good and bad answers of the model's source, as its client would pass them to the store. */

import fc from 'fast-check';
import { type EpochMs, intervalMs, periodStart } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { RejectedRow } from '../../planning/answer.ts';
import { hasOpenPoint } from '../../planning/periods.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import { graceMs } from './series-model.ts';
import { rowOf, type Truth, type Values } from './truth.ts';

export interface AnswerPlan {
  /** `whole`: all rows. `cut`: a few from one end. `empty`: none. `unreadable`: no readable row. */
  readonly kind: 'whole' | 'cut' | 'empty' | 'unreadable' | 'outOfRangeRows';
  /** The number of rows of a `cut`. */
  readonly rows: number;
  /** The end from which a cut or a cap keeps rows. */
  readonly keeps: 'oldest' | 'newest';
  /** Whether one of the rows is invalid, and whether it still has its time. */
  readonly oneBroken: boolean;
  readonly brokenTells: boolean;
  /** Rows outside the window, one row twice, and unordered. */
  readonly untidy: boolean;
  /** The source's clock: equal to ours, absent, minutes off, or of a copy that is older than the window. */
  readonly clock: 'right' | 'none' | 'behind' | 'ahead' | 'stale';
  /** A copy of an older answer, with older values. */
  readonly old: boolean;
}

/** The source's answer to a window. */
export interface Answered {
  readonly rows: ReadonlyArray<Candle | HistoryPoint>;
  readonly rejected: readonly RejectedRow[];
  readonly sourceTimeMs: EpochMs | null;
  readonly durationMs: number;
  /** The readable rows within the window by time, without those of a stale copy that were not final then. */
  readonly points: ReadonlyMap<EpochMs, Values>;
  /** The first and last row with a time. Null: there is none. */
  readonly shown: Range | null;
  /** Whether the source omitted points before those rows, and after them. */
  readonly lacks: { readonly before: boolean; readonly after: boolean };
  /** The time of an invalid row. Null: it is unreadable. Absent: no invalid row. */
  readonly brokenMs?: EpochMs | null;
  /** The answer has rows, and all are invalid. */
  readonly isUseless: boolean;
}

const seldom = fc.integer({ min: 0, max: 5 }).map((die) => die === 5);

export const answerPlan: fc.Arbitrary<AnswerPlan> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('whole' as const) },
    { weight: 3, arbitrary: fc.constant('cut' as const) },
    { weight: 4, arbitrary: fc.constant('empty' as const) },
    { weight: 1, arbitrary: fc.constantFrom('unreadable' as const, 'outOfRangeRows' as const) },
  ),
  rows: fc.integer({ min: 1, max: 8 }),
  keeps: fc.constantFrom('oldest' as const, 'newest'),
  oneBroken: seldom,
  brokenTells: fc.boolean(),
  untidy: seldom,
  clock: fc.oneof(
    { weight: 6, arbitrary: fc.constant('right' as const) },
    { weight: 4, arbitrary: fc.constantFrom('none' as const, 'behind', 'ahead', 'stale') },
  ),
  old: seldom,
});

/**
 * @param window the requested range, including witnesses.
 * @param cap the maximum number of rows in an answer; null: no cap.
 */
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
  // The data at the time of the answer: the period that is open then is the last.
  const untilMs = sourceTimeMs === null ? at.nowMs - durationMs : Math.min(sourceTimeMs, at.nowMs);
  const newestMs = periodStart(untilMs, series.interval) - (hasOpenPoint(series) ? 0 : length);
  const times: EpochMs[] = [];
  for (let timeMs = window.startMs; timeMs < window.endMs && timeMs <= newestMs; timeMs += length) {
    if (truth.has(timeMs)) times.push(timeMs);
  }
  const most = Math.min(plan.kind === 'cut' ? plan.rows : times.length, at.cap ?? times.length);
  const kept = plan.keeps === 'oldest' ? times.slice(0, most) : times.slice(times.length - most);
  const given = plan.kind === 'whole' || plan.kind === 'cut' ? kept : [];
  const broken = plan.oneBroken && given.length > 2 ? given[1] : undefined;
  const points = new Map<EpochMs, Values>();
  for (const timeMs of given) {
    if (timeMs !== broken) points.set(timeMs, truth.valuesAt(timeMs, at.nowMs, plan.old ? 1 : 0));
  }
  // An invalid row has its time, or nothing.
  const placed = given.filter((timeMs) => timeMs !== broken || plan.brokenTells);
  const firstMs = placed[0];
  const lastMs = placed.at(-1);
  const shown = firstMs === undefined || lastMs === undefined ? null : { startMs: firstMs, endMs: lastMs };
  const rows = [...points].map(([timeMs, values]) => rowOf(series, timeMs, values));
  const closedMs = periodStart(at.nowMs - graceMs, series.interval);
  const closedThereMs = periodStart(sourceTimeMs ?? at.nowMs - durationMs, series.interval);
  for (const timeMs of points.keys()) {
    if (timeMs >= closedThereMs && timeMs < closedMs) points.delete(timeMs);
  }
  if (plan.kind === 'outOfRangeRows') {
    rows.push(rowOf(series, window.startMs - 9 * length, truth.valuesAt(window.startMs, at.nowMs)));
  }
  const rejected =
    plan.kind === 'unreadable' || broken !== undefined
      ? [
          {
            raw: `{"${broken !== undefined && plan.brokenTells ? 'period' : 'broken'}":${broken ?? window.startMs}}`,
            reason: 'open: not a decimal',
          },
        ]
      : [];
  return {
    rows: plan.untidy ? untidied(rows, truth, window, at.nowMs) : rows,
    rejected,
    sourceTimeMs,
    durationMs,
    points,
    shown,
    lacks: {
      before: times.some((timeMs) => timeMs < (firstMs ?? 0)),
      after: times.some((timeMs) => timeMs > (lastMs ?? 0)),
    },
    ...(broken === undefined ? {} : { brokenMs: plan.brokenTells ? broken : null }),
    isUseless: points.size === 0 && (rejected.length > 0 || plan.kind === 'outOfRangeRows'),
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
  // The last row of a duplicate counts.
  return [wrong, after, ...rows.slice(1), first];
}
