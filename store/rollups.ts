/**
 * Keeping the rollups in agreement with the points.
 *
 * TimescaleDB logs which ranges a commit changed below what is materialised, and a refresh computes anew what is in
 * that log, so asking for everything costs no more than what was touched. The continuous aggregates' own policies do
 * the same every hour; here it is done at once, level by level, each after the one it is made of.
 */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import { type Database, takeAnyTime, timestamp } from './database.ts';
import { type RollupLevel, rollupLevels } from './derived/levels.ts';
import { batchOptions, lagMs } from './derived/refresh-rules.ts';

export interface RefreshOptions {
  readonly nowMs: EpochMs;
  /** Stops it, also within a statement. What is done stays done. */
  readonly signal?: AbortSignal | undefined;
}

export interface RangeBehind {
  /** Such as `tidemark.rollup_h1`. */
  readonly rollup: string;
  /** Null: from the beginning. */
  readonly startMs: EpochMs | null;
  readonly endMs: EpochMs;
}

/** A refresh of the same rollup by somebody else, such as its policy, is under way. */
const busyCode = '55P03';
const cancelledCode = '57014';
const askAgainMs = 500;

/** Every range in which a rollup may disagree with its points. None without TimescaleDB, where rollups are plain views. */
export async function rangesBehind(database: Database): Promise<RangeBehind[]> {
  const result = await database.pool.query<{ rollup: string; start: EpochMs | null; end: EpochMs }>(
    'select rollup, lower(range) as start, upper(range) as end from tidemark.rollups_behind order by rollup, range',
  );
  return result.rows.map(({ rollup, start, end }) => ({ rollup, startMs: start, endMs: end }));
}

/**
 * Brings every rollup into agreement with its points, and what is materialised up to a day or more before now, see
 * {@link lagMs}: what is newer, queries take from the points. Waits while somebody else refreshes the same rollup.
 * Does nothing without TimescaleDB.
 *
 * @returns false when the signal stopped it.
 */
export async function refreshRollups(database: Database, options: RefreshOptions): Promise<boolean> {
  const { signal } = options;
  const levels = await materialisedLevels(database);
  if (levels.length === 0) return true;
  const client = await database.pool.connect();
  let broken: Error | undefined;
  let cancel = () => {};
  try {
    const pid = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    // The first refresh of a long history takes minutes.
    await takeAnyTime(client, 'session');
    cancel = () =>
      void database.pool.query('select pg_cancel_backend($1)', [pid.rows[0]?.pid]).catch(() => {});
    signal?.addEventListener('abort', cancel);
    for (const level of levels) {
      while (signal?.aborted !== true && !(await refreshLevel(client, level, options.nowMs))) {
        await delay(askAgainMs, undefined, { signal }).catch(() => {});
      }
    }
  } catch (error) {
    broken = error instanceof Error ? error : new Error(String(error));
    const isStopped = signal?.aborted && error instanceof pg.DatabaseError && error.code === cancelledCode;
    if (!isStopped) throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
    // A cancel that arrives late would hit the connection's next user.
    if (signal?.aborted) broken ??= new Error('stopped');
    if (broken === undefined) await client.query('reset statement_timeout');
    client.release(broken);
  }
  return signal?.aborted !== true;
}

/** @returns false when somebody else is refreshing it. */
async function refreshLevel(client: pg.PoolClient, level: RollupLevel, nowMs: EpochMs): Promise<boolean> {
  try {
    await client.query(
      'call refresh_continuous_aggregate($1::regclass, null, $2::timestamptz, options => $3::jsonb)',
      [level.name, timestamp(nowMs - lagMs(level)), JSON.stringify(batchOptions(level))],
    );
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === busyCode) return false;
    throw error;
  }
}

/** The levels that are continuous aggregates: all or none. */
async function materialisedLevels(database: Database): Promise<RollupLevel[]> {
  const extension = await database.pool.query(`select from pg_extension where extname = 'timescaledb'`);
  if (extension.rowCount === 0) return [];
  const result = await database.pool.query<{ name: string }>(
    `select 'tidemark.' || view_name as name from timescaledb_information.continuous_aggregates
     where view_schema = 'tidemark'`,
  );
  const names = new Set(result.rows.map(({ name }) => name));
  return rollupLevels.filter(({ name }) => names.has(name));
}
