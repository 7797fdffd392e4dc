/** Refreshes rollups at the end of a command that stored points. */

import type { Database } from '../store/db/database.ts';
import { isPermissionDenied } from '../store/db/failure.ts';
import { refreshRollups } from '../store/rollups/refresh.ts';

/** `stopped`: by Ctrl-C. `left`: this role lacks the right, and their policies refresh them within the hour. */
export type RollupsOutcome = 'current' | 'stopped' | 'left';

/** @throws database errors except a missing right. */
export async function refreshRollupsAtEnd(database: Database, signal: AbortSignal): Promise<RollupsOutcome> {
  try {
    const isWhole = await refreshRollups(database, { nowMs: Date.now(), signal });
    return isWhole ? 'current' : 'stopped';
  } catch (error) {
    if (isPermissionDenied(error)) return 'left';
    throw error;
  }
}
