/**
 * Group commit: windows that wait for a connection are committed together, in one transaction, as soon as one is
 * free. Most of what a transaction costs beside its points is then paid once; measured, a fifth of the database's
 * time. Under a budget a window hardly ever waits, and is committed alone.
 *
 * A group that cannot be stored because of what one of its windows holds, or because that was stored meanwhile, is
 * committed window by window, so that the others are not lost with it. A database in trouble fails the whole group.
 */

import type { LimitFunction } from 'p-limit';
import type { Database } from '../store/database.ts';
import { type PreparedWindow, prepareWindow } from '../store/prepared.ts';
import { commitWindows, type WindowCommit, type WindowResult } from '../store/windows.ts';
import { storeTroubleOf } from './store-trouble.ts';

export type CommitWindow = (commit: WindowCommit) => Promise<WindowResult>;

/** Windows in one transaction at most: a few megabytes of points, and tens of milliseconds. */
const largestGroup = 16;

interface Waiting {
  readonly window: PreparedWindow;
  resolve(result: WindowResult): void;
  reject(error: unknown): void;
}

/** @param slot bounds the transactions under way. */
export function groupCommits(database: Database, slot: LimitFunction): CommitWindow {
  const waiting: Waiting[] = [];

  async function commitGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await commitWindows(
        database,
        group.map(({ window }) => window),
      );
      for (const [place, result] of results.entries()) group[place]?.resolve(result);
    } catch (error) {
      if (group.length === 1 || storeTroubleOf(error).passes) for (const { reject } of group) reject(error);
      else for (const entry of group) await commitGroup([entry]);
    }
  }

  const takeTurn = () => commitGroup(waiting.splice(0, largestGroup));

  function commitLater(window: PreparedWindow): Promise<WindowResult> {
    return new Promise((resolve, reject) => {
      waiting.push({ window, resolve, reject });
      // As many turns as windows: those whose window went with an earlier group find nothing to do.
      void slot(takeTurn);
    });
  }

  // No function made in here may see the commit: its rows would then wait too.
  return (commit) => commitLater(prepareWindow(commit));
}
