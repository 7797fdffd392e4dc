/**
 * Upkeep beside the planning passes: rollups and the columnstore. None of it is a job of the planning queue: that runs
 * one job at a time, and a rollup refresh or a chunk conversion may take minutes, during which no window would be
 * planned.
 */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { minuteMs } from '../model/intervals.ts';
import type { SourceFacts } from '../model/sources.ts';
import { deleteDueRereads } from '../store/commit/deferred-windows.ts';
import { type Database, isLockWait } from '../store/db/database.ts';
import { settleBackfills } from '../store/ledger/backfills.ts';
import { pruneLedger } from '../store/ledger/ledger.ts';
import { sourcesInUse } from '../store/series/sources.ts';
import { applyRetention } from '../store/upkeep/drop-old.ts';
import { moveDueChunks } from '../store/upkeep/jobs.ts';
import { rangesBehind, refreshRollups } from '../store/upkeep/refresh-rollups.ts';

/** Work that repeats for as long as a scheduler runs. */
export interface Task {
  readonly everyMs: number;
  /** Before the first run; absent: it runs at once. */
  readonly firstMs?: number;
  /** Handles its errors. @returns milliseconds until the next run where it is not `everyMs`. */
  run(signal: AbortSignal): Promise<unknown>;
}

export const startTask = (clock: Clock, { everyMs, firstMs, run }: Task) => clock.repeat(everyMs, run, firstMs);

interface UpkeepContext {
  readonly database: Database;
  readonly everyMs: number;
  readonly log: Logger;
  readonly clock: Clock;
}

/** After a refresh, rest for so many times its duration, so that it does not slow down a backfill. */
const restPerRefresh = 4;

/** Refreshes the rollups of days that have ended, or that a late point or a revision has changed. */
export function rollupsTask({ database, everyMs, log, clock }: UpkeepContext): Task {
  let isFailing = false;

  async function run(signal: AbortSignal): Promise<number> {
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
      if (!isFailing) log.warn({ cause: messageOf(error) }, 'rollups could not be refreshed');
      isFailing = true;
    }
    return Math.max(everyMs, restPerRefresh * (clock.monotonicMs() - startedMs));
  }

  return { everyMs, firstMs: everyMs, run };
}

/** Gives the policies time to run after a start. */
const firstMs = 10 * 60_000;

/**
 * Moves old chunks to the columnstore if their policy fails, is overdue or is absent. Runs every hour, as policies do,
 * so that a backfill is not compressed repeatedly.
 */
export function columnstoreTask(context: UpkeepContext & { readonly afterDays: number }): Task {
  const { database, afterDays, everyMs, log, clock } = context;
  let isFailing = false;

  function logFailure(error: unknown, facts: object): void {
    const cause = messageOf(error);
    if (!isFailing) log.warn({ cause, ...facts }, 'chunks could not be moved to the columnstore');
    isFailing = true;
  }

  async function run(signal: AbortSignal): Promise<void> {
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

  return { everyMs, firstMs: Math.min(firstMs, everyMs), run };
}

const settleEveryMs = minuteMs;

/** Ends the record of backfills that are covered now. */
export function settleTask({ database, log, clock }: Omit<UpkeepContext, 'everyMs'>): Task {
  return {
    everyMs: settleEveryMs,
    run: () =>
      settleBackfills
        .on(database.pool, { nowMs: clock.now() })
        .catch((error: unknown) =>
          log.warn({ cause: messageOf(error) }, 'the ends of backfills could not be recorded'),
        ),
  };
}

/** Removes old rows of the ledger, and deferred rereads whose time has come. */
export function pruneTask({
  database,
  everyMs,
  log,
  clock,
  ledgerMs,
  sources,
}: UpkeepContext & {
  /** Retention of the ledger; undefined: forever. */
  readonly ledgerMs: number | undefined;
  readonly sources: () => ReadonlyMap<string, Pick<SourceFacts, 'longLimit'>>;
}): Task {
  const warn = (message: string) => (error: unknown) => log.warn({ err: error }, message);

  /** The use of a long limit is known from the ledger: its period is kept as well. */
  async function pruneFor(keptMs: number): Promise<void> {
    const used = await sourcesInUse(database);
    const periodsMs = used.map((source) => sources().get(source)?.longLimit?.periodMs ?? 0);
    await pruneLedger(database, clock.now() - Math.max(keptMs, ...periodsMs));
  }

  return {
    everyMs,
    async run() {
      await deleteDueRereads
        .on(database.pool, { nowMs: clock.now() })
        .catch(warn('deferred rereads could not be deleted'));
      if (ledgerMs !== undefined) await pruneFor(ledgerMs).catch(warn('old rows of the ledger could not be removed'));
    },
  };
}

export function retentionTask({ database, everyMs, log, clock }: UpkeepContext): Task {
  async function run(signal: AbortSignal): Promise<void> {
    let isBusy = false;
    try {
      const dropped = await applyRetention(database, {
        clock,
        nowMs: clock.now(),
        signal,
        onBusy(dataset) {
          if (!isBusy) log.warn({ dataset }, 'old points wait for a lock of another session');
          isBusy = true;
        },
      });
      for (const { dataset, points, cutMs } of dropped) {
        if (points > 0) log.info({ dataset, points, before: new Date(cutMs) }, 'old points were dropped');
      }
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'old points could not be dropped');
    }
  }

  return { everyMs, run };
}
