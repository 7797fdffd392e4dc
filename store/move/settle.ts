/** After a move: what the target's server would come to by itself, within the hour. */

import { type Database, inTransaction, takeAnyTime } from '../database.ts';
import { refreshRollups } from '../rollups.ts';

/** Lets the planner know the tables, and brings the rollups up to date. What fails is left to autovacuum and policies. */
export async function settle(
  target: Database,
  options: { tables: readonly string[]; nowMs: number; signal: AbortSignal },
): Promise<void> {
  await inTransaction(target, async (client) => {
    await takeAnyTime(client, 'transaction');
    for (const table of options.tables) {
      if (!options.signal.aborted) await client.query(`analyze tidemark.${table}`);
    }
  });
  await refreshRollups(target, { nowMs: options.nowMs, signal: options.signal });
}
