/**
 * Upkeep beside the planning passes: rollups and the columnstore. None of it is a job of the planning queue: that runs one
 * job at a time, and a rollup refresh or a chunk conversion may take minutes, during which no window would be planned.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { EpochMs } from '../contract/intervals.ts';
import { type Database, isLockWait } from '../store/db/database.ts';
import { rangesBehind, refreshRollups } from '../store/rollups/refresh.ts';
import { moveDueChunks } from '../store/timescale/upkeep.ts';

/**
 * Repeats the work, `everyMs` after each end. Closing aborts it, within a statement too, and waits for its end.
 *
 * @param work must not throw. A number that it returns replaces `everyMs` once.
 * @param firstMs delay before the first run; 0 unless given.
 */
export function repeat(everyMs: number, work: (signal: AbortSignal) => Promise<unknown>, firstMs = 0) {
  const stop = new AbortController();
  async function run(): Promise<void> {
    let restMs = firstMs;
    while (!stop.signal.aborted) {
      await delay(restMs, undefined, { signal: stop.signal }).catch(() => {});
      if (stop.signal.aborted) return;
      const restNow = await work(stop.signal);
      restMs = typeof restNow === 'number' ? restNow : everyMs;
    }
  }
  const ended = run();
  return {
    close() {
      stop.abort();
      return ended;
    },
  };
}

interface UpkeepOptions {
  readonly database: Database;
  readonly everyMs: number;
  readonly log: Logger;
  readonly now: () => EpochMs;
}

/** After a refresh, rest for so many times its duration, so that it does not slow down a backfill. */
const restPerRefresh = 4;

/**
 * Refreshes the rollups of days that have ended, or that a late point or a revision has changed.
 */
export function keepRollups({ database, everyMs, log, now }: UpkeepOptions) {
  let isFailing = false;

  async function refresh(signal: AbortSignal): Promise<number> {
    const startedMs = performance.now();
    try {
      const nowMs = now();
      const behind = await rangesBehind(database, { nowMs });
      if (behind.length > 0 && (await refreshRollups(database, { nowMs, signal }))) {
        log.debug(
          { ranges: behind.length, durationMs: Math.round(performance.now() - startedMs) },
          'rollups refreshed',
        );
      }
      if (isFailing) log.info('rollups are refreshed again');
      isFailing = false;
    } catch (error) {
      // A chunk that is being compressed is locked. The next run finds the same ranges.
      if (isLockWait(error)) return everyMs;
      if (!isFailing)
        log.warn(
          { cause: error instanceof Error ? error.message : String(error) },
          'rollups could not be refreshed',
        );
      isFailing = true;
    }
    return Math.max(everyMs, restPerRefresh * (performance.now() - startedMs));
  }

  return repeat(everyMs, refresh, everyMs);
}

/** Gives the policies time to run after a start. */
const firstMs = 10 * 60_000;

/**
 * Moves old chunks to the columnstore if their policy fails, is overdue or is absent. Runs every hour, as policies do, so
 * that a backfill is not compressed repeatedly.
 */
export function keepColumnstore(options: UpkeepOptions & { readonly afterDays: number }) {
  const { database, afterDays, everyMs, log, now } = options;
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
        nowMs: now(),
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

  return repeat(everyMs, moveChunks, Math.min(firstMs, everyMs));
}
