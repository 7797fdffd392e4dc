/** The dependencies of every operation. runtime/context.ts creates them for a process. */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { TidemarkError } from '../errors.ts';
import type { Range } from '../model/ranges.ts';
import { longestRange, type RangeKey } from '../model/request-range.ts';
import { type SeriesKey, seriesName } from '../model/series.ts';
import { defaultSource } from '../model/sources.ts';
import type { ShowPhase } from '../planning/progress.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { Config } from '../settings/config.ts';
import type { SourceRegistry } from '../sources/registry.ts';
import type { Database } from '../store/db/database.ts';
import { readNamedSeries } from '../store/series/sources.ts';
import { readLongestRanges } from '../store/settings/settings.ts';

/** A scheduler or worker in this process. */
interface Running {
  close(): Promise<void>;
}

export interface OperationContext {
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Logger;
  readonly database: Database;
  readonly phase: ShowPhase;
  /** Aborted when the user stops a command that handles signals; absent: of another command. */
  readonly signal?: AbortSignal;
  /** @param databaseUrl of a queue on PostgreSQL; absent: that of `database`. */
  openQueues(databaseUrl?: string): Promise<QueueBackend>;
  /** @throws TidemarkError BAD_WATCH_LIST */
  sources(): Promise<SourceRegistry>;
  /** @throws TidemarkError BAD_CONFIGURATION when the source cannot be asked, or no source has the name. */
  runWorker(queues: QueueBackend, source: string): Promise<Running>;
  /** @param only plans only gaps of these series within these ranges. */
  runScheduler(queues: QueueBackend, only: ReadonlyMap<number, Range>): Promise<Running>;
  /**
   * Called between writes.
   *
   * @throws TidemarkError DATABASE_FULL while the embedded database can still shut down cleanly.
   */
  assertFreeSpace(): void;
}

/** Opens the queues for some work. */
export async function withQueues<Result>(
  { openQueues }: Pick<OperationContext, 'openQueues'>,
  work: (queues: QueueBackend) => Promise<Result>,
): Promise<Result> {
  const queues = await openQueues();
  try {
    return await work(queues);
  } finally {
    await queues.close();
  }
}

/**
 * Opens the queues for work that can do without.
 *
 * @param away the work where they do not answer. @throws other errors.
 */
export async function askQueues<Result>(
  context: Pick<OperationContext, 'openQueues'>,
  work: (queues: QueueBackend) => Promise<Result>,
  away: (error: TidemarkError) => Result | Promise<Result>,
): Promise<Result> {
  return withQueues(context, work).catch((error: unknown) => away(queueAwayOr(error)));
}

/** @returns the error, if it is that the queue does not answer. @throws any other. */
export function queueAwayOr(error: unknown): TidemarkError {
  if (error instanceof TidemarkError && error.code === 'QUEUE_UNREACHABLE') return error;
  throw error;
}

/** @returns the longest range of one request for a series: as configured, and as the source accepts. */
export async function readRangeLimits({
  database,
  sources,
}: Pick<OperationContext, 'database' | 'sources'>): Promise<(series: SeriesKey) => number> {
  const named = await readNamedSeries(database);
  const { facts } = await sources();
  const accepted = new Map<string, ReadonlyMap<RangeKey, number>>();
  for (const name of new Set([defaultSource, ...named.values()]))
    accepted.set(name, await readLongestRanges(database, name));
  return (series) => {
    const name = named.get(seriesName(series)) ?? defaultSource;
    return longestRange(series, facts.get(name)?.offers, accepted.get(name));
  };
}
