/**
 * Group commit: windows that wait for a connection are committed together in one transaction. This saves a fifth of the
 * database's time (measured with a source without a limit). Within a usual budget a window rarely waits, and is
 * committed alone.
 *
 * If one window of a group cannot be stored, or was stored meanwhile, or meets a lock, the windows are committed one by
 * one, so that it does not hold up the others. An outage of the database fails the whole group.
 */

import { commitWindows } from '../store/commit/commit-windows.ts';
import { type PreparedWindow, prepareWindow, type WindowResult } from '../store/commit/prepare-window.ts';
import { type Database, isLockWait } from '../store/db/database.ts';
import { storeTroubleOf } from './store-failure.ts';
import type { CommitSlot, Committer } from './worker-context.ts';

/** Windows of one transaction: a few megabytes of points and tens of milliseconds. */
const maxGroup = 16;

interface Waiting {
  readonly window: PreparedWindow;
  resolve(result: WindowResult): void;
  reject(error: unknown): void;
}

/**
 * @param slot bounds concurrent transactions.
 * @param unlocked retries a commit while it waits for a lock; absent: no retry.
 */
export function groupCommits(
  database: Database,
  slot: CommitSlot,
  unlocked: CommitSlot = (commit) => commit(),
): Committer['store'] {
  const waiting: Waiting[] = [];

  async function commitGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const windows = group.map(({ window }) => window);
      const results = await commitWindows(database, windows);
      for (const [place, result] of results.entries()) group[place]?.resolve(result);
    } catch (error) {
      if (isLockWait(error)) for (const entry of group) commitAlone(entry, error);
      else if (group.length === 1 || storeTroubleOf(error).isTransient) for (const { reject } of group) reject(error);
      else for (const entry of group) await commitGroup([entry]);
    }
  }

  /** The try with the group counts as the first. The slot is released between tries, for windows that meet no lock. */
  function commitAlone({ window, resolve, reject }: Waiting, lockWait: unknown): void {
    let first: Promise<never> | null = Promise.reject(lockWait);
    const commit = (): Promise<WindowResult[]> => {
      const tried = first;
      first = null;
      return tried ?? slot(() => commitWindows(database, [window]));
    };
    unlocked(commit).then((results) => {
      for (const result of results) resolve(result);
    }, reject);
  }

  const takeTurn = () => commitGroup(waiting.splice(0, maxGroup));

  function commitLater(window: PreparedWindow): Promise<WindowResult> {
    return new Promise((resolve, reject) => {
      waiting.push({ window, resolve, reject });
      // One turn for each window. A turn whose window went with an earlier group has nothing to do.
      void slot(takeTurn);
    });
  }

  // No closure here may capture `commit`: it would keep the answer's rows in memory.
  return (commit) => commitLater(prepareWindow(commit));
}
