/**
 * Polls the lists that the patterns of a watch list need, once each. Every page is a job, and every job one request.
 *
 *   begun     A poll per list is open in the database.
 *   joining   A scheduler and workers run elsewhere and request the pages. This process only polls.
 *   working   This process runs the missing scheduler or worker, for these polls only.
 *   ended     All polls are complete. After a failed poll or Ctrl-C the open polls are given up.
 *
 * After a crash the next scheduler resumes open polls.
 */

import { TidemarkError } from '../../errors.ts';
import { listName, type PolledList } from '../../model/lists/index.ts';
import { defaultSource } from '../../model/sources.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { pageJobId } from '../../queue/jobs.ts';
import { inTransaction } from '../../store/db/database.ts';
import { giveUpPolls, openPages } from '../../store/lists/polls.ts';
import { readListFetches, readPollStates, requestListPoll } from '../../store/settings/polled-lists.ts';
import type { OperationContext } from '../context.ts';
import { inProcessWorkers } from '../in-process-workers.ts';
import { pollUntil } from '../poll-until.ts';
import { assertNoServiceMessage, assertNotPaused, assertNotRefused } from '../source-health.ts';

/** Consecutive failed requests after which the source is considered unusable. */
const hopelessAfter = 4;

/**
 * @throws TidemarkError LIST_NOT_POLLED, SOURCE_NOTICE, PAUSED, INTERRUPTED, BAD_CONFIGURATION where no source is
 * configured.
 */
export async function pollLists(
  context: OperationContext,
  lists: readonly PolledList[],
  signal: AbortSignal,
): Promise<void> {
  const { database } = context;
  await assertNotPaused(context, [[defaultSource]]);
  const startedMs = context.clock.now();
  const polls = new Map<number, PolledList>();
  for (const list of lists) {
    const id = await requestListPoll(database, { list, nowMs: startedMs, isPatient: false });
    if (id !== null) polls.set(id, list);
  }
  const parts = inProcessWorkers(context, null, { sources: [defaultSource] });

  async function poll(): Promise<object | null> {
    if (signal.aborted) throw new TidemarkError('INTERRUPTED', 'stopped while lists were polled');
    await requireSomeSource(context, await parts.ensure(false), lists);
    const queues = await parts.ensure(true);
    // Read claims before open pages: a page that ends in between is not queued again.
    const claimed = await queues.requests.claimedWindows();
    if ((await queues.planning.countWorkers()) === 0) {
      const open = (await openPages(database)).filter(
        (page) => polls.has(page.pollId) && !claimed.pages.has(pageJobId(page)),
      );
      await queues.requests.addPages(open.map(({ answeredMs: _, ...page }) => page));
    }
    const standings = await readPollStates.on(database.pool, { pollIds: [...polls.keys()] });
    const failed = standings.find(({ state }) => state === 'given_up');
    if (failed !== undefined) throw notPolled(polls.get(failed.pollId), failed.reason ?? 'it was given up');
    const fetches = await readListFetches(database, startedMs, lists);
    if (fetches.failedInARow >= hopelessAfter) throw notPolled(fetches.list ?? undefined, fetches.message);
    await assertNotRefused(context, (await context.sources()).get(defaultSource), startedMs);
    await assertNoServiceMessage(context, { startedMs, pausedMs: await queues.requests.pausedForMs() });
    return standings.every(({ state }) => state === 'complete') ? {} : null;
  }

  try {
    await parts.ensure(false);
    await pollUntil(context, `polling ${lists.map(listName).join(', ')}`, poll, signal);
  } catch (error) {
    for (const pollId of polls.keys()) {
      const given = { pollId, nowMs: context.clock.now(), reason: 'the command that requested it ended' };
      // If the database is unreachable the polls stay open for the next scheduler.
      await inTransaction(database, (client) => giveUpPolls(client, given)).catch(() => {});
    }
    throw error;
  } finally {
    await parts.close();
  }
}

/** @throws TidemarkError BAD_CONFIGURATION when neither this process nor a worker has a source. */
async function requireSomeSource(
  context: OperationContext,
  queues: QueueBackend,
  lists: readonly PolledList[],
): Promise<void> {
  if ((await context.sources()).get(defaultSource).url !== null || (await queues.requests.countWorkers()) > 0) return;
  const names = lists.map(listName).join(' and ');
  throw new TidemarkError(
    'BAD_CONFIGURATION',
    `the patterns of the watch list need the list of ${names} of the last day, and SOURCE_URL is not set`,
    { remedy: 'set it, so that the list can be polled; or use names without patterns' },
  );
}

function notPolled(list: PolledList | undefined, why: string): TidemarkError {
  return new TidemarkError(
    'LIST_NOT_POLLED',
    `the list of ${list === undefined ? 'the source' : listName(list)} could not be polled: ${why}`,
  );
}
