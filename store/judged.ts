/** From windows whose points are written to what their answers prove. */

import type pg from 'pg';
import { closedUpTo } from '../planning/closed.ts';
import { type Judgement, judge } from '../planning/verdict.ts';
import type { PointChanges } from './points.ts';
import type { PreparedWindow } from './prepared.ts';
import { capOf, lockedMostRows } from './standing.ts';

export interface Written extends PreparedWindow {
  readonly changes: PointChanges;
}

export interface Judged extends Written {
  readonly judgement: Judgement;
}

/**
 * Judges the answers. Where one is not plainly `filled`, what other windows brought has a say, up to this moment: the
 * series are then locked for the rest of the transaction.
 */
export async function judgeAll(client: pg.PoolClient, windows: readonly Written[]): Promise<Judged[]> {
  // Without a larger answer to compare with, any may have been capped: a window that is filled even so is filled.
  const strictly = windows.map((window) => ({ ...window, judgement: judgementOf(window, 0) }));
  if (strictly.every(({ judgement }) => judgement.verdict === 'filled')) return strictly;
  const nowMs = Math.max(...windows.map((window) => window.nowMs));
  const mostRows = await lockedMostRows(client, windows, nowMs);
  return windows.map((window) => ({
    ...window,
    judgement: judgementOf(window, mostRows.get(capOf(window.series)) ?? 0),
  }));
}

function judgementOf(written: Written, mostRows: number): Judgement {
  const { window, series, answer, points, nowMs } = written;
  // Without a timestamp of its own, an answer knows no more than what there was when it was asked for.
  const sourceTimeMs = Math.min(nowMs, answer.sourceTimeMs ?? nowMs - answer.durationMs);
  return judge({
    window,
    interval: series.interval,
    timesMs: points.timesMs,
    rejected: answer.rejected.length,
    strangers: written.strangers,
    rows: written.rows,
    mostRows,
    isNews: written.changes.fresh > 0,
    closedUpToMs: closedUpTo(series, nowMs, written.graceMs),
    answeredUpToMs: closedUpTo(series, Math.min(sourceTimeMs, written.knownUntilMs), 0),
  });
}
