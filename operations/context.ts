/** The dependencies of every operation. runtime/context.ts creates them for a process. */

import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { Range } from '../planning/ranges.ts';
import { longestRange } from '../planning/windows.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { Database } from '../store/db/database.ts';
import { listRetentions, type Retention } from '../store/retention/retention.ts';
import { readLongestRanges } from '../store/settings/settings.ts';
import type { ShowPhase } from './progress.ts';

/** A scheduler or worker in this process. */
export interface Running {
  close(): Promise<void>;
}

export interface OperationContext {
  readonly config: Config;
  readonly log: Logger;
  readonly database: Database;
  readonly phase: ShowPhase;
  openQueues(): Promise<QueueBackend>;
  /** @throws TidemarkError BAD_CONFIGURATION when SOURCE_URL is not set. */
  runWorker(queues: QueueBackend): Promise<Running>;
  /** @param only plans only gaps of these series within these ranges. */
  runScheduler(queues: QueueBackend, only: ReadonlyMap<number, Range>): Promise<Running>;
  /**
   * Called between writes.
   *
   * @throws TidemarkError DATABASE_FULL while the embedded database can still shut down cleanly.
   */
  assertFreeSpace(): void;
}

/** @returns the longest range of one request for a series: as configured, and as the source accepts. */
export async function readRangeLimits({
  config,
  database,
}: Pick<OperationContext, 'config' | 'database'>): Promise<(series: SeriesKey) => number> {
  const accepted = await readLongestRanges(database);
  return (series) => longestRange(series, config.source.rangeLimits, accepted);
}

/** @returns the retentions in force, each with its current cut. */
export function readRetentions(
  { config, database }: Pick<OperationContext, 'config' | 'database'>,
  nowMs: EpochMs,
): Promise<Retention[]> {
  return listRetentions(database, { nowMs, chunkDays: config.storage.chunkDays });
}
