/** The rollups at the end of a command that stored points. */

import type { Database } from '../store/database.ts';
import { isRightMissing } from '../store/failure.ts';
import { refreshRollups } from '../store/rollups.ts';

/** `stopped`: by Ctrl-C. `left`: to their policies, which run as their owner within the hour; this role may not. */
export type RollupsOutcome = 'current' | 'stopped' | 'left';

/** Refreshes what awaits it. @throws whatever the database does, but for a right that is missing. */
export async function bringRollupsUpToDate(database: Database, signal: AbortSignal): Promise<RollupsOutcome> {
  try {
    const isWhole = await refreshRollups(database, { nowMs: Date.now(), signal });
    return isWhole ? 'current' : 'stopped';
  } catch (error) {
    if (isRightMissing(error)) return 'left';
    throw error;
  }
}
