/**
 * Cancels a backfill, whichever process makes its requests: that one sees it at its next sign of life and stops, what
 * was tracked for it is taken back, so that no scheduler goes on, and its windows leave the queue. A request under way
 * ends. Stored points stay.
 */

import { badArgument, TidemarkError } from '../../errors.ts';
import { formatCount, nonEmpty } from '../../model/format.ts';
import { isTracking } from '../../model/lanes.ts';
import { inTransaction } from '../../store/db/database.ts';
import { cancelOpen, recordedBackfills, seriesOfBackfills, takeBack } from '../../store/ledger/backfills.ts';
import { readAllSources } from '../../store/series/sources.ts';
import { type OperationContext, withQueues } from '../context.ts';
import { joinQueues } from '../sources/queues.ts';
import { runOf } from './record.ts';

/** A planning pass that has read the gaps before queues its windows within this time. */
const passMs = 1500;

/**
 * @param by who cancels it.
 * @returns what was done, in a sentence.
 * @throws TidemarkError UNKNOWN_BACKFILL; BAD_ARGUMENT when it has ended, or is the watch list's.
 */
export async function cancelBackfill(
  context: Pick<OperationContext, 'database' | 'clock' | 'openQueues'>,
  id: number,
  by: string,
): Promise<string> {
  const { database, clock } = context;
  const [found] = await recordedBackfills.on(database.pool, { id, most: 1 });
  if (found === undefined) throw new TidemarkError('UNKNOWN_BACKFILL', `no backfill has the id ${id}`);
  if (found.kind === 'watch_list' && found.endedMs === null)
    throw badArgument(
      `backfill ${id} is the watch list's, which would track it again`,
      'change the watch list, with `prune: true` for what it no longer has, and `tidemark apply`',
    );
  const taken = await inTransaction(database, async (client) => {
    const [cancelled] = await cancelOpen.on(client, { id, by, nowMs: clock.now() });
    return cancelled === undefined ? null : takeBack.on(client, { id, nowMs: clock.now() });
  });
  if (taken === null)
    throw badArgument(`backfill ${id} has ended: ${found.state}`, `\`tidemark backfills show ${id}\` has how`);
  const series = await seriesOfBackfills.on(database.pool, { ids: [id] });
  const seriesIds = series.map(({ seriesId }) => seriesId);
  await withQueues(context, async (queues) => {
    const requests = joinQueues(queues, await readAllSources(database, seriesIds));
    const drop = async () => {
      if (!isTracking(found.kind)) await requests.dropRun(runOf(id));
      else for (const { seriesId } of taken) await requests.dropSeries(seriesId);
    };
    await drop();
    await clock.sleep(passMs);
    await drop();
  });
  const untracked = taken.filter(({ isTracked }) => !isTracked).length;
  const narrowed = taken.length - untracked;
  const others = isTracking(found.kind) ? series.length - taken.length : 0;
  return nonEmpty([
    `cancelled backfill ${id}`,
    untracked > 0 ? `${formatCount(untracked)} series no longer tracked` : '',
    narrowed > 0 ? `${formatCount(narrowed)} series tracked as before` : '',
    others > 0 ? `${formatCount(others)} series still tracked, as before or for another one` : '',
    'stored points stay',
  ]).join('; ');
}
