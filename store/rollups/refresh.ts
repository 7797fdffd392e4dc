/**
 * Refreshes the rollups.
 *
 * TimescaleDB logs the ranges that a commit changes below the watermark. A refresh recomputes only the logged
 * ranges, so refreshing everything costs no more than the changes. The policies of the continuous aggregates
 * do the same every hour; here it is done at once, each level after its source.
 */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import { type Database, isLockWait, onLongConnection, timestamp, timestampOrNull } from '../db/database.ts';
import { timescaleVersion } from '../timescale/extension.ts';
import { batchOptions, lagMs, type RollupLevel, rollupLevels } from './levels.ts';

export interface RefreshOptions {
  readonly nowMs: EpochMs;
  /** Stops it, also within a statement. Finished batches stay. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each rollup. */
  readonly onLevel?: (done: number, of: number) => void;
}

export interface RangeBehind {
  /** Such as `tidemark.rollup_h1`. */
  readonly rollup: string;
  /** Null: from the beginning. */
  readonly startMs: EpochMs | null;
  readonly endMs: EpochMs;
}

const cancelledCode = '57014';
const retryPauseMs = 500;

/**
 * Lists the ranges in which a rollup may differ from its points. None without TimescaleDB, where rollups are
 * plain views.
 *
 * @param nowMs includes ranges that are old enough to be materialised and are not, as in
 * `tidemark.rollups_behind`.
 */
export async function rangesBehind(database: Database, nowMs?: EpochMs): Promise<RangeBehind[]> {
  const result = await database.pool.query<RangeBehind>(
    `select rollup, lower(range) as "startMs", upper(range) as "endMs" from (
       select * from tidemark.ranges_behind()
       union all select * from tidemark.ranges_unmaterialised($1) where $1::timestamptz is not null
     ) b order by rollup, range`,
    [timestampOrNull(nowMs)],
  );
  return result.rows;
}

/**
 * Refreshes every rollup, and materialises it up to a day or more before now, see {@link lagMs}. Waits while
 * another session refreshes the same rollup. Does nothing without TimescaleDB.
 *
 * @returns false when the signal stopped it.
 */
export async function refreshRollups(database: Database, options: RefreshOptions): Promise<boolean> {
  const { signal } = options;
  const levels = await materialisedLevels(database);
  if (levels.length === 0) return true;
  try {
    // The first refresh of a long history takes minutes.
    await onLongConnection(database, signal, async (client) => {
      for (const [done, level] of levels.entries()) {
        options.onLevel?.(done, levels.length);
        while (signal?.aborted !== true && !(await refreshLevel(client, level, options.nowMs))) {
          await delay(retryPauseMs, undefined, { signal }).catch(() => {});
        }
      }
    });
  } catch (error) {
    const isStopped = signal?.aborted && error instanceof pg.DatabaseError && error.code === cancelledCode;
    if (!isStopped) throw error;
  }
  return signal?.aborted !== true;
}

/** @returns false when another session is refreshing it. */
async function refreshLevel(client: pg.PoolClient, level: RollupLevel, nowMs: EpochMs): Promise<boolean> {
  try {
    await client.query(
      'call refresh_continuous_aggregate($1::regclass, null, $2::timestamptz, options => $3::jsonb)',
      [level.name, timestamp(nowMs - lagMs(level)), JSON.stringify(batchOptions(level))],
    );
    return true;
  } catch (error) {
    // The policy, another scheduler, or any other lock.
    if (isLockWait(error)) return false;
    throw error;
  }
}

/** The levels that are continuous aggregates: all or none. */
async function materialisedLevels(database: Database): Promise<RollupLevel[]> {
  if ((await timescaleVersion(database.pool)) === null) return [];
  const result = await database.pool.query<{ name: string }>(
    `select 'tidemark.' || view_name as name from timescaledb_information.continuous_aggregates
     where view_schema = 'tidemark'`,
  );
  const names = new Set(result.rows.map(({ name }) => name));
  return rollupLevels.filter(({ name }) => names.has(name));
}
