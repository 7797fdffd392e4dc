/** Makes a watch list true: all of its changes in one transaction, so that a crash at any instant leaves all or none. */

import { createHash } from 'node:crypto';
import { type Database, inTransaction } from '../store/database.ts';
import { writeListChange } from '../store/watch-list/lists.ts';
import { writeSeriesChanges } from '../store/watch-list/series.ts';
import {
  lockWatchList,
  writeApplied,
  writeRereadOverride,
  writeRetention,
} from '../store/watch-list/settings.ts';
import { type ListsMissing, planWatchList, type WatchContext, type WatchPlan } from './plan-watch-list.ts';
import type { WatchList } from './watch-list.ts';

/**
 * Of several that apply at once, each waits for the one before, and then sees what that has done. Nothing that is stored
 * is deleted here: a retention drops points once a day, when the scheduler applies it.
 *
 * @returns what was changed; or which lists have to be polled first, and nothing was.
 */
export function applyWatchList(
  database: Database,
  list: WatchList,
  context: WatchContext & { readonly hash: string },
): Promise<WatchPlan | ListsMissing> {
  return inTransaction(database, async (client) => {
    await lockWatchList(client);
    const plan = await planWatchList(client, list, context);
    if (plan.kind === 'lists') return plan;
    const { nowMs, hash } = context;
    const series = await writeSeriesChanges(client, plan.series, nowMs);
    for (const { list, afterMs } of plan.lists)
      await writeListChange(client, { list, everyMs: afterMs, nowMs });
    for (const { dataset, after } of plan.retention) await writeRetention(client, dataset, after);
    if (plan.reread !== null) await writeRereadOverride(client, plan.reread.after);
    await writeApplied(client, { hash, atMs: nowMs });
    return { ...plan, series };
  });
}

/** Tells one text of a watch list from another. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
