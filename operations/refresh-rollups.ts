/** Refreshes rollups at the end of a command that stored points. */

import { isPermissionDenied } from '../store/db/failure.ts';
import { refreshRollups } from '../store/upkeep/refresh-rollups.ts';
import type { OperationContext } from './context.ts';

/** `stopped`: by Ctrl-C. `left`: this role lacks the right, and the scheduler refreshes them. */
export type RollupsOutcome = 'current' | 'stopped' | 'left';

/**
 * @param seriesIds the series with new points; undefined: any.
 * @throws database errors except a missing right.
 */
export async function refreshRollupsAtEnd(
  { clock, database, phase }: Pick<OperationContext, 'clock' | 'database' | 'phase'>,
  seriesIds: readonly number[] | undefined,
  signal: AbortSignal,
): Promise<RollupsOutcome> {
  try {
    const isWhole = await refreshRollups(database, {
      clock,
      nowMs: clock.now(),
      seriesIds,
      signal,
      onSeries: (done, of) => phase('refreshing the rollups', `${done} of ${of} series done`),
    });
    return isWhole ? 'current' : 'stopped';
  } catch (error) {
    if (isPermissionDenied(error)) return 'left';
    throw error;
  }
}
