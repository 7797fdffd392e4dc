/**
 * Polls the lists that a watch list's patterns need, once each, as the scheduler and its workers poll any other: every page
 * a job of the one queue, and each of them one request.
 *
 *   begun     A poll of each is open, in the database.
 *   joining   A scheduler and workers run elsewhere: they ask for its pages, and this only watches.
 *   working   Where one of them is absent, this process does its part, for these polls only.
 *   ended     All are complete. Or one was given up, or Ctrl-C: then what is still open is given up.
 *
 * Killed, it leaves open polls, which the next scheduler takes up.
 */

import type { SnapshotList } from '../contract/lists.ts';
import { listName } from '../contract/lists.ts';
import { TidemarkError } from '../errors.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { pageJobId } from '../queue/jobs.ts';
import { inTransaction } from '../store/database.ts';
import { giveUpPolls, openPages } from '../store/snapshots/polls.ts';
import { askForList, listFetchesSince, pollStandings } from '../store/watch-list/ask.ts';
import { refuseNotice } from './fill-gaps.ts';
import { MissingParts } from './missing-parts.ts';
import { explainQueueError, lookUntilDone } from './patience.ts';
import type { Session } from './session.ts';

/** Requests that fail one after the other, after which nothing is expected of the source. */
const hopelessAfter = 4;

/** @throws TidemarkError LIST_NOT_POLLED, SOURCE_NOTICE, INTERRUPTED, BAD_CONFIGURATION where no source is configured. */
export async function pollLists(
  session: Session,
  lists: readonly SnapshotList[],
  signal: AbortSignal,
): Promise<void> {
  const { database } = session;
  const startedMs = Date.now();
  const polls = new Map<number, SnapshotList>();
  for (const list of lists) {
    const id = await askForList(database, { list, nowMs: startedMs, patiently: false });
    if (id !== null) polls.set(id, list);
  }
  const parts = new MissingParts(session, null);

  async function look(): Promise<object | null> {
    if (signal.aborted) throw new TidemarkError('INTERRUPTED', 'stopped while lists were polled');
    await requireSomeSource(session, await parts.ensure(false), lists);
    const queues = await parts.ensure(true);
    // Before the open pages: one that ends in between is then not open, and not asked for again.
    const claimed = await queues.requests
      .claimedWindows()
      .catch((error: unknown) => explainQueueError(error, queues.kind));
    if ((await queues.planning.workersPresent()) === 0) {
      const open = (await openPages(database)).filter(
        (page) => polls.has(page.pollId) && !claimed.pages.has(pageJobId(page)),
      );
      await queues.requests.addPages(open.map(({ answeredMs: _, ...page }) => page));
    }
    const standings = await pollStandings(database, [...polls.keys()]);
    const failed = standings.find(({ state }) => state === 'given_up');
    if (failed !== undefined) throw notPolled(polls.get(failed.pollId), failed.reason ?? 'it was given up');
    const fetches = await listFetchesSince(database, startedMs, lists);
    if (fetches.failedInARow >= hopelessAfter) throw notPolled(fetches.list ?? undefined, fetches.message);
    await refuseNotice(session, { startedMs, pausedMs: await queues.requests.pausedForMs() });
    return standings.every(({ state }) => state === 'complete') ? {} : null;
  }

  try {
    await lookUntilDone(look, signal);
  } catch (error) {
    for (const pollId of polls.keys()) {
      const given = { pollId, nowMs: Date.now(), reason: 'the command that asked for it ended' };
      // What ended it may be the database's absence: then they stay open, for the next scheduler.
      await inTransaction(database, (client) => giveUpPolls(client, given)).catch(() => {});
    }
    throw error;
  } finally {
    await parts.close();
  }
}

/** @throws TidemarkError BAD_CONFIGURATION where neither this process nor a worker has a source. */
async function requireSomeSource(
  session: Session,
  queues: QueueBackend,
  lists: readonly SnapshotList[],
): Promise<void> {
  if (session.config.source.url !== undefined || (await queues.requests.workersPresent()) > 0) return;
  const names = lists.map(listName).join(' and ');
  throw new TidemarkError(
    'BAD_CONFIGURATION',
    `the patterns of the watch list need the source's list of ${names} from within the last day, and SOURCE_URL is not set`,
    { remedy: 'set it, so that the list can be polled; or name what is meant without patterns' },
  );
}

function notPolled(list: SnapshotList | undefined, why: string): TidemarkError {
  return new TidemarkError(
    'LIST_NOT_POLLED',
    `the list of ${list === undefined ? 'the source' : listName(list)} could not be polled: ${why}`,
  );
}
