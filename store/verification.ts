/** What becomes of a window that was asked for to verify or to repair what is stored of it. */

import type pg from 'pg';
import type { Verdict } from '../planning/verdict.ts';
import { tellRun } from './asked.ts';
import { type Comparison, compareStored, differing } from './compare.ts';
import { type Database, inTransaction, timestamp } from './database.ts';
import { type Judged, judgeAll } from './judged.ts';
import { recordFetch } from './ledger.ts';
import { pointTables } from './point-sql.ts';
import { noChanges } from './points.ts';
import type { PreparedWindow } from './prepared.ts';

/** Why an answer settled nothing. */
const unsettled: Readonly<Partial<Record<Verdict, string>>> = Object.freeze({
  stale: 'the answer was older than the window',
  unreadable: 'no row of the answer could be read, or none belonged to the window',
});

/**
 * What a run is told of an empty answer where points are stored: it settles nothing, as sources in trouble give such
 * answers to valid requests.
 */
export const emptied = 'emptied';

export interface Verified {
  readonly verdict: 'same' | 'rewritten' | 'differs' | Verdict;
  /** Null: the answer settled nothing. */
  readonly comparison: Comparison | null;
}

/**
 * Compares the answer to a window with what is stored, and puts down what differs: with the ledger's row and the word
 * to the command, in one transaction. Neither the points nor the coverage are touched. What an answer that was cut
 * short does not reach is left for the command to ask for.
 */
export async function verifyWindow(database: Database, window: PreparedWindow): Promise<Verified> {
  return inTransaction(database, async (client) => {
    const [judged] = await judgeAll(client, [{ ...window, changes: noChanges }]);
    if (judged === undefined) throw new Error('a window that was not judged');
    const comparison = await settle(client, judged);
    const verdict = comparison === null ? judged.judgement.verdict : verdictOf(comparison);
    const { answer } = window;
    await recordFetch(client, {
      timeMs: window.nowMs,
      dataset: window.series.dataset,
      seriesId: window.seriesId,
      range: window.window,
      lane: window.lane,
      attempt: window.attempt,
      verdict,
      status: answer.status,
      fresh: 0,
      changed: 0,
      unchanged: 0,
      rejected: answer.rejected.length,
      bytes: answer.bytes,
      durationMs: answer.durationMs,
      error: null,
    });
    return { verdict, comparison };
  });
}

/**
 * Compares what is stored by now with the answer that repaired it, within the commit's transaction: what the source no
 * longer has stays, and stays a difference.
 */
export async function settleRepairs(client: pg.PoolClient, windows: readonly Judged[]): Promise<void> {
  for (const window of windows) {
    if (window.lane === 'repair') await settle(client, window);
  }
}

async function settle(client: pg.PoolClient, window: Judged): Promise<Comparison | null> {
  const { judgement, seriesId, points, nowMs, changes } = window;
  const isEmptied = window.rows === 0 && (await holdsPoints(client, window));
  const reached = isEmptied ? null : judgement.covered;
  const comparison =
    reached === null ? null : await compareStored(client, { seriesId, range: reached, points, nowMs });
  const { run, startMs, endMs, askedEndMs = endMs } = window.window;
  if (run !== undefined) {
    await tellRun(
      client,
      { run, seriesId, window: { startMs, endMs: askedEndMs }, nowMs },
      comparison === null
        ? isEmptied
          ? { kind: emptied, message: 'answered empty, where points are stored' }
          : { kind: judgement.verdict, message: unsettled[judgement.verdict] ?? 'the window has not closed' }
        : { ...comparison, reached, fresh: changes.fresh, revised: changes.revised },
    );
  }
  return comparison;
}

/** Points of the window but for those that an answer which was not empty has shown to be missing at the source. */
async function holdsPoints(client: pg.PoolClient, { seriesId, series, window }: Judged): Promise<boolean> {
  const result = await client.query({
    name: `holds-points-${series.dataset}`,
    text: `select from tidemark.${pointTables[series.dataset]} p
           where series_id = $1 and time >= $2 and time < $3 and not exists (
             select from tidemark.differences d
             where d.series_id = p.series_id and d.time = p.time and d.kind = 'missing_there')
           limit 1`,
    values: [seriesId, timestamp(window.startMs), timestamp(window.endMs)],
  });
  return result.rowCount === 1;
}

function verdictOf(comparison: Comparison): Verified['verdict'] {
  if (differing(comparison) > 0) return 'differs';
  return comparison.rewritten > 0 ? 'rewritten' : 'same';
}
