/** After a move: what the target's server would come to by itself, within the hour. */

import { type Database, inTransaction } from '../database.ts';
import { refreshRollups } from '../rollups.ts';

/** Lets the planner know the tables, and brings the rollups up to date. What fails is left to autovacuum and policies. */
export async function settle(
  target: Database,
  options: { tables: readonly string[]; nowMs: number; signal: AbortSignal },
): Promise<void> {
  await inTransaction(target, async (client) => {
    await client.query('set local statement_timeout = 0');
    for (const table of options.tables) {
      if (!options.signal.aborted) await client.query(`analyze tidemark.${table}`);
    }
  });
  await refreshRollups(target, { nowMs: options.nowMs, signal: options.signal });
}
