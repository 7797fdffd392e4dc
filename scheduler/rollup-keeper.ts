/**
 * Keeps the rollups in agreement with what is written below what they hold, as a backfill or a revision does. Their
 * policies would, too, but only within the hour.
 *
 *   resting      Until the next look: a minute, and after a long refresh four times as long as it took.
 *   looking      Does any range await a refresh? No: resting.
 *   refreshing   One at a time, whoever does it: of several schedulers the others wait and then find nothing left.
 *
 * Not a job of the planning queue: that runs one job at a time, and a refresh may take minutes, in which no window would
 * be planned. A refresh that is lost with its process is found by the next look, here or elsewhere.
 */

import type { Logger } from 'pino';
import type { EpochMs } from '../contract/intervals.ts';
import type { Database } from '../store/database.ts';
import { rangesBehind, refreshRollups } from '../store/rollups.ts';

export interface RollupKeeper {
  /** Stops a refresh that is under way. */
  close(): Promise<void>;
}

/** A refresh gets at most this part of the time, so that a long backfill is not slowed down by it. */
const restPerRefresh = 4;

export function keepRollups(options: {
  readonly database: Database;
  readonly everyMs: number;
  readonly log: Logger;
  readonly now: () => EpochMs;
}): RollupKeeper {
  const { database, everyMs, log } = options;
  const stop = new AbortController();
  let troubled = false;
  let work = Promise.resolve();
  let timer = rest(everyMs);

  function rest(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      work = look();
    }, ms);
  }

  async function look(): Promise<void> {
    const startedMs = performance.now();
    try {
      const behind = await rangesBehind(database);
      if (
        behind.length > 0 &&
        (await refreshRollups(database, { nowMs: options.now(), signal: stop.signal }))
      ) {
        log.debug(
          { ranges: behind.length, durationMs: Math.round(performance.now() - startedMs) },
          'rollups refreshed',
        );
      }
      if (troubled) log.info('rollups are refreshed again');
      troubled = false;
    } catch (error) {
      if (!troubled)
        log.warn(
          { cause: error instanceof Error ? error.message : String(error) },
          'rollups could not be refreshed',
        );
      troubled = true;
    }
    if (!stop.signal.aborted)
      timer = rest(Math.max(everyMs, restPerRefresh * (performance.now() - startedMs)));
  }

  return Object.freeze({
    async close() {
      stop.abort();
      clearTimeout(timer);
      await work;
    },
  } satisfies RollupKeeper);
}
