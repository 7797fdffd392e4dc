/** Applies a watch list in one transaction, so that a crash leaves all changes or none. */

import { createHash } from 'node:crypto';
import type { EpochMs } from '../model/intervals.ts';
import { askedRange } from '../planning/periods.ts';
import { nameOfChange, type SeriesChange } from '../planning/watch-list-changes.ts';
import { type Database, inTransaction } from '../store/db/database.ts';
import { type BackfilledSeries, insertBackfill } from '../store/ledger/backfills.ts';
import { startPolling, stopPolling } from '../store/lists/lists.ts';
import { writeSeriesSources } from '../store/series/sources.ts';
import { readKnownSeries, writeSeriesChanges } from '../store/settings/series-changes.ts';
import {
  lockWatchList,
  writeApplied,
  writeInvalidList,
  writeRereadOverride,
  writeWaiting,
} from '../store/settings/settings.ts';
import { writeRetention } from '../store/upkeep/retention.ts';
import { planWatchList, type WatchListContext, type WatchListPlan } from './plan.ts';
import { problemText, type WatchList } from './watch-list.ts';

/**
 * Concurrent calls wait for each other and see each other's changes. No point is deleted here: the scheduler applies a
 * retention once a day.
 *
 * @returns the changes.
 */
export function applyWatchList(
  database: Database,
  list: WatchList,
  context: WatchListContext & {
    readonly hash: string;
    readonly file: string /** Who applies it. */;
    readonly by: string;
  },
): Promise<WatchListPlan> {
  return inTransaction(database, async (client) => {
    await lockWatchList(client);
    const plan = await planWatchList(client, list, context);
    const { nowMs, hash, file, by } = context;
    const series = await writeSeriesChanges(client, plan.series, nowMs);
    const asked = series.flatMap((change) => askedBy(change, nowMs));
    if (asked.length > 0)
      await insertBackfill(client, { kind: 'watch_list', by, series: asked }, { nowMs, isAlive: false });
    if (plan.sources.length > 0) {
      const ids = new Map(
        (await readKnownSeries.on(client, {})).map((known) => [nameOfChange(known.series), known.seriesId]),
      );
      for (const { series, sources } of plan.sources) {
        const id = ids.get(nameOfChange(series));
        // A series that retention leaves out is not known.
        if (id !== undefined) await writeSeriesSources(client, id, sources);
      }
    }
    for (const { list, afterMs } of plan.lists)
      await (afterMs === null
        ? stopPolling(client, list, nowMs)
        : startPolling.on(client, { ...list, everyMs: afterMs }));
    for (const { dataset, after } of plan.retention) await writeRetention(client, dataset, after);
    if (plan.reread !== null) await writeRereadOverride(client, plan.reread.after);
    await writeInvalidList(client, null, nowMs);
    await writeWaiting(
      client,
      plan.waiting.map((one) => problemText(file, one)),
    );
    // What waits for a list is applied as soon as this is read.
    if (plan.waiting.length === 0) await writeApplied(client, { hash, atMs: nowMs });
    return { ...plan, series };
  });
}

/** What a change asks for that was not tracked before; nothing: it only narrows. */
function askedBy({ kind, series, seriesId, before, after }: SeriesChange, nowMs: EpochMs): BackfilledSeries[] {
  if (seriesId === null || after === null || (kind !== 'added' && kind !== 'widened' && kind !== 'moved')) return [];
  return [{ seriesId, range: askedRange(series, after, { nowMs, graceMs: 0 }), before, after }];
}

/** What applying it would change. Nothing of it stays. */
export async function previewWatchList(
  database: Database,
  list: WatchList,
  context: WatchListContext,
): Promise<WatchListPlan> {
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    return await planWatchList(client, list, context);
  } finally {
    await client.query('rollback').catch(() => {});
    client.release();
  }
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
