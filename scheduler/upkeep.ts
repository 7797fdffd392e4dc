/**
 * Upkeep beside the planning passes: rollups and the columnstore. None of it is a job of the planning queue: that runs one
 * job at a time, and a rollup refresh or a chunk conversion may take minutes, during which no window would be planned.
 */

import type { Logger } from 'pino';
import type { Clock, Repetition } from '../clock.ts';
import { type Database, isLockWait } from '../store/db/database.ts';
import { moveDueChunks } from '../store/upkeep/jobs.ts';
import { rangesBehind, refreshRollups } from '../store/upkeep/refresh-rollups.ts';

interface UpkeepOptions {
  readonly database: Database;
  readonly everyMs: number;
  readonly log: Logger;
  readonly clock: Clock;
}

/** After a refresh, rest for so many times its duration, so that it does not slow down a backfill. */
const restPerRefresh = 4;

/**
 * Refreshes the rollups of days that have ended, or that a late point or a revision has changed.
 */
export function keepRollups({ database, everyMs, log, clock }: UpkeepOptions): Repetition {
  let isFailing = false;

  async function refresh(signal: AbortSignal): Promise<number> {
    const startedMs = clock.monotonicMs();
    try {
      const nowMs = clock.now();
      const behind = await rangesBehind(database, { nowMs });
      if (behind.length > 0 && (await refreshRollups(database, { clock, nowMs, signal }))) {
        log.debug(
          { ranges: behind.length, durationMs: Math.round(clock.monotonicMs() - startedMs) },
          'rollups refreshed',
        );
      }
      if (isFailing) log.info('rollups are refreshed again');
      isFailing = false;
    } catch (error) {
      // A chunk that is being compressed is locked. The next run finds the same ranges.
      if (isLockWait(error)) return everyMs;
      if (!isFailing)
        log.warn({ cause: error instanceof Error ? error.message : String(error) }, 'rollups could not be refreshed');
      isFailing = true;
    }
    return Math.max(everyMs, restPerRefresh * (clock.monotonicMs() - startedMs));
  }

  return clock.repeat(everyMs, refresh, everyMs);
}

/** Gives the policies time to run after a start. */
const firstMs = 10 * 60_000;

/**
 * Moves old chunks to the columnstore if their policy fails, is overdue or is absent. Runs every hour, as policies do, so
 * that a backfill is not compressed repeatedly.
 */
export function keepColumnstore(options: UpkeepOptions & { readonly afterDays: number }): Repetition {
  const { database, afterDays, everyMs, log, clock } = options;
  let isFailing = false;

  function logFailure(error: unknown, facts: object): void {
    const cause = error instanceof Error ? error.message : String(error);
    if (!isFailing) log.warn({ cause, ...facts }, 'chunks could not be moved to the columnstore');
    isFailing = true;
  }

  async function moveChunks(signal: AbortSignal): Promise<void> {
    try {
      let failed = 0;
      await moveDueChunks(database, {
        clock,
        nowMs: clock.now(),
        afterDays,
        signal,
        onMoved: (moved) => log.info(moved, 'moved a chunk to the columnstore in place of its policy'),
        onFailed({ error, ...chunk }) {
          failed += 1;
          logFailure(error, chunk);
        },
      });
      if (failed === 0) isFailing = false;
    } catch (error) {
      if (!signal.aborted) logFailure(error, {});
    }
  }

  return clock.repeat(everyMs, moveChunks, Math.min(firstMs, everyMs));
}
