/**
 * Commits windows: points, revisions, quarantine, ledger and coverage in one transaction. After a crash at
 * any instant a window is either stored completely or still a gap.
 */

import { datasetNames } from '../../model/datasets/index.ts';
import type { Range } from '../../model/ranges.ts';
import { rejectionOf } from '../../planning/answer.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { LostRace, retryLostRaces } from '../db/failure.ts';
import { quarantineRows } from '../ledger/quarantine.ts';
import { createChunks } from './create-chunks.ts';
import { holdUnusualSilences, lackAfterPoints, recordEmptyTimes } from './empty-answers.ts';
import { evaluateAnswers, mayContainPoints, type WrittenWindow } from './evaluate-answers.ts';
import type { PreparedWindow, WindowResult } from './prepare-window.ts';
import { markReread } from './reread.ts';
import { withStoredLinks } from './stored-links.ts';
import { compareRepairs } from './verification.ts';
import { mergeWitnesses, reopenSilences } from './witnesses.ts';
import { recordCoverage } from './write-coverage.ts';
import { copyPoints, countRevisions, mergePoints, noChanges, sumChanges } from './write-points.ts';

/**
 * Commits the answers to several requests in one transaction.
 *
 * @returns the result of each window, in the same order.
 * @throws LostRace when points of several windows were stored meanwhile, or are given twice among them. The
 * caller then commits each window alone, which merges them.
 */
export async function commitWindows(database: Database, windows: readonly PreparedWindow[]): Promise<WindowResult[]> {
  if (windows.length === 0) return [];
  for (const dataset of datasetNames) {
    const points = windows.flatMap((window) => (window.points.dataset === dataset ? [window.points] : []));
    await createChunks(database, dataset, points);
  }
  try {
    return await commitTogether(database, windows, 'copy');
  } catch (error) {
    const [only, another] = windows;
    if (!(error instanceof LostRace) || only === undefined || another !== undefined) throw error;
    return retryLostRaces(() => commitTogether(database, [only], 'merge'));
  }
}

/** The window with the ranges before it that the source lacks: rejected rows may be of those. */
function withMissing({ window, lacking: { missing } }: PreparedWindow): Range {
  const startMs = Math.min(window.startMs, missing[0]?.startMs ?? window.startMs);
  return { startMs, endMs: window.endMs };
}

/**
 * @param how whether windows that seem to hold no points yet are written by COPY, or merged like the others.
 */
async function commitTogether(
  database: Database,
  windows: readonly PreparedWindow[],
  how: 'copy' | 'merge',
): Promise<WindowResult[]> {
  return inTransaction(database, async (client) => {
    const held = how === 'merge' ? [] : await mayContainPoints(client, windows);
    const isCopied = windows.map((_, place) => held[place] === false);
    if (
      !(await copyPoints(
        client,
        windows.filter((_, place) => isCopied[place]),
      ))
    )
      throw new LostRace();
    const written: WrittenWindow[] = [];
    for (const [place, window] of windows.entries()) {
      const changes = isCopied[place]
        ? { ...noChanges, fresh: window.points.timesMs.length }
        : await mergePoints(client, window, window.nowMs);
      if (changes === null) throw new LostRace();
      const beside = await mergeWitnesses(client, window);
      if (beside === null) throw new LostRace();
      written.push({ ...window, ...beside, changes: sumChanges([changes, ...beside.changes]) });
      await quarantineRows(client, {
        seriesId: window.window.seriesId,
        dataset: window.window.series.dataset,
        window: withMissing(window),
        rows: window.answer.rejected,
        seenAtMs: window.nowMs,
      });
    }
    const linked: WrittenWindow[] = [];
    for (const window of written) linked.push(await withStoredLinks(client, window));
    const judged = await lackAfterPoints(client, await evaluateAnswers(client, linked));
    const answered = await holdUnusualSilences(client, judged);
    const evaluated = await reopenSilences(client, answered);
    const recorded = await recordCoverage(client, evaluated);
    await markReread(client, recorded);
    await countRevisions(client, recorded);
    await recordEmptyTimes(client, recorded);
    await compareRepairs(client, recorded);
    return recorded.map(({ changes, verdict, covered, window, answer, lacking, seen: { dropped } }) => ({
      ...changes,
      ...{ verdict, covered, dropped },
      ...rejectionOf(answer.rejected),
      unusable: verdict === 'unreadable' ? [{ startMs: window.startMs, endMs: window.endMs }] : lacking.disputed,
    }));
  });
}
