/** Handles the answer to a window that was requested to verify or to repair stored points. */

import type pg from 'pg';
import { byDataset } from '../../model/datasets/index.ts';
import { counted } from '../../model/format.ts';
import { intervalMs } from '../../model/intervals.ts';
import { isCommand } from '../../model/window.ts';
import type { Verdict } from '../../planning/verdict.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { int4, statement, time } from '../db/statement.ts';
import { recordFetch } from '../ledger/ledger.ts';
import { publishResult } from './command-results.ts';
import { compareStored, countDiffering, type ReadComparison } from './differences.ts';
import { type EvaluatedWindow, evaluateAnswers } from './evaluate-answers.ts';
import type { PreparedWindow } from './prepare-window.ts';
import { ledgerEntry } from './write-coverage.ts';
import { noChanges } from './write-points.ts';

/** Why an answer decided nothing. */
const undecidedReasons: Readonly<Partial<Record<Verdict, string>>> = Object.freeze({
  cut_short: 'no row of the answer bounds the window: it may have been truncated',
  stale: 'the answer is older than the window',
  unreadable: 'no row of the answer was readable, or none belonged to the window',
});

const unreadMessage = (points: number) =>
  `${counted(points, 'stored point')} could not be compared: the rows of the answer were rejected`;

/**
 * Kind of result for an empty answer where points are stored. It decides nothing: a source in trouble answers
 * valid requests like that.
 */
export const emptiedKind = 'emptied';

/**
 * Kind of result where no row of the answer bounds a silence, or the answer has no row. The silence is undecided, or
 * was taken for a pause of a thin market.
 */
export const unboundedKind = 'unbounded';

export interface Verified {
  readonly verdict: 'same' | 'rewritten' | 'differs' | Verdict;
  /** Null: the answer decided nothing. */
  readonly comparison: ReadComparison | null;
}

/**
 * Compares the answer to a window with the stored points, and stores the differences, the ledger's row and
 * the result for the command in one transaction. Points and coverage are not touched. The command requests
 * again the part beyond a truncated answer.
 */
export async function verifyWindow(database: Database, window: PreparedWindow): Promise<Verified> {
  return inTransaction(database, async (client) => {
    const [evaluated] = await evaluateAnswers(client, [{ ...window, changes: noChanges }]);
    if (evaluated === undefined) throw new Error('a window without an evaluation');
    const comparison = await settleWindow(client, evaluated);
    const verdict = comparison === null ? evaluated.evaluation.verdict : verdictOf(comparison);
    await recordFetch(client, ledgerEntry(evaluated, verdict));
    return { verdict, comparison };
  });
}

/**
 * Compares the stored points with the answer that repaired them, within the commit's transaction: a point
 * that the source no longer has stays stored, and stays a difference.
 */
export async function compareRepairs(client: pg.PoolClient, windows: readonly EvaluatedWindow[]): Promise<void> {
  for (const window of windows) {
    if (window.window.lane === 'repair') await settleWindow(client, window);
  }
}

async function settleWindow(client: pg.PoolClient, answered: EvaluatedWindow): Promise<ReadComparison | null> {
  const { window, evaluation, points, nowMs, changes, seen } = answered;
  if (!isCommand(window)) throw new TypeError('only a command compares');
  const isEmptied = seen.rows === 0 && (await holdsPoints(client, answered));
  const reached = isEmptied ? null : evaluation.covered;
  const comparison =
    reached === null
      ? null
      : await compareStored(client, {
          seriesId: window.seriesId,
          // An answer of another source is compared to the tick, and its differences are kept apart.
          against: window.against === null ? null : window.source,
          range: reached,
          points,
          nowMs,
          unreadable: seen.rejectedPeriodsMs,
          periodMs: intervalMs[window.series.interval],
        });
  await publishResult(
    client,
    { window, nowMs },
    comparison === null
      ? isEmptied
        ? { kind: emptiedKind, message: 'empty answer where points are stored' }
        : {
            kind: evaluation.verdict === 'cut_short' ? unboundedKind : evaluation.verdict,
            message: undecidedReasons[evaluation.verdict] ?? 'the window has not closed',
          }
      : {
          ...comparison,
          reached,
          fresh: changes.fresh,
          revised: changes.revised,
          kind: evaluation.isUnbounded || seen.rows === 0 ? unboundedKind : null,
          message: comparison.unread === 0 ? null : unreadMessage(comparison.unread),
        },
  );
  return comparison;
}

/**
 * Whether the window holds points, except those that a non-empty answer has shown to be missing at the source, or the
 * source has shown one there that is not stored.
 */
async function holdsPoints(client: pg.PoolClient, { window }: EvaluatedWindow): Promise<boolean> {
  const { series, seriesId, startMs: start, endMs: end } = window;
  return (await heldPoints[series.dataset].on(client, { seriesId, start, end })).length > 0;
}

const heldPoints = byDataset(({ table }, dataset) =>
  statement({
    name: `holds-points-${dataset}`,
    text: `select from tidemark.${table} p
           where series_id = $seriesId and time >= $start and time < $end and not exists (
             select from tidemark.differences d
             where d.series_id = p.series_id and d.time = p.time and d.kind = 'missing_there')
           union all
           select from tidemark.differences
           where series_id = $seriesId and time >= $start and time < $end and kind = 'missing_here'
           limit 1`,
    parameters: { seriesId: int4, start: time, end: time },
  }),
);

function verdictOf(comparison: ReadComparison): Verified['verdict'] {
  if (countDiffering(comparison) > 0) return 'differs';
  if (comparison.unread > 0) return 'unreadable';
  return comparison.rewritten > 0 ? 'rewritten' : 'same';
}
