/**
 * Maintenance of the database that is late: background jobs that fail, chunks that are due for the
 * columnstore, rollups that await a refresh, and lock waits. Shown in `status`, metrics and the dashboard.
 *
 * TimescaleDB's jobs move chunks and refresh rollups, and the server reports their failures only in its own
 * log. Where a policy fails or is missing, the scheduler moves the chunks, with the policy's own call.
 */

import type { Clock } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import { type LockWaits, readLockWaits } from '../db/activity.ts';
import { type Database, isLockWait, onLongConnection } from '../db/database.ts';
import { bool, int4, int8, nullable, oneOf, type RowOf, statement, text, time } from '../db/statement.ts';
import { timescaleSchema, timescaleVersion } from '../timescale/extension.ts';
import { hypertables } from '../timescale/hypertables.ts';
import { type ChunkState, listChunksInRows } from '../timescale/internals.ts';
import { rangesBehind } from './refresh-rollups.ts';

export interface Upkeep {
  readonly failingJobs: readonly FailingJob[];
  /** Series with a range in `tidemark.rollups_behind`. */
  readonly rollupsBehind: number;
  /** Chunks that should be in the columnstore and are not. */
  readonly chunksDue: number;
  readonly locks: LockWaits;
}

/** @param query.afterDays age at which a chunk moves to the columnstore; 0: never. */
export async function readUpkeep(database: Database, query: { nowMs: EpochMs; afterDays: number }): Promise<Upkeep> {
  const behind = await rangesBehind(database, query);
  const due = await readDueChunks(database, query).catch(asFailingJob);
  return {
    failingJobs: [...(await readFailingJobs(database)), ...('failures' in due ? [due] : [])],
    rollupsBehind: new Set(behind.map(({ seriesId }) => seriesId)).size,
    chunksDue: 'failures' in due ? 0 : due.length,
    locks: await readLockWaits.one(database.pool, {}),
  };
}

/** With a release of TimescaleDB that is not known, nobody sees which chunks are due: `status` shows why. */
function asFailingJob(error: unknown): FailingJob {
  if (!(error instanceof TidemarkError && error.code === 'TIMESCALE_UNKNOWN')) throw error;
  const message = `${error.message}; ${error.remedy}`;
  return { jobId: 0, kind: 'columnstore', of: null, state: 'failed', failures: 1, lastRunMs: null, message };
}

export type FailingJob = RowOf<typeof failingJobs.row>;

/**
 * A condition on `j`, a row of `timescaledb_information.jobs`, and `s`, its row of `job_stats`: more than an
 * hour late. A job without a start time is overdue where no scheduler of TimescaleDB runs.
 */
const isOverdue = `(
  s.job_status is distinct from 'Running' and case
    when isfinite(s.next_start) then s.next_start < now() - interval '1 hour'
    else not exists (select from pg_stat_activity a where a.datname = current_database()
                     and a.backend_type = 'TimescaleDB Background Worker Scheduler')
  end)`;

/** Lists failing jobs, without paused ones and the extension's telemetry. None without TimescaleDB. */
export async function readFailingJobs(database: Database): Promise<FailingJob[]> {
  if ((await timescaleVersion(database.pool)) === null) return [];
  return failingJobs.on(database.pool, {});
}

const failingJobs = statement({
  name: 'failing-jobs',
  isPlannedAnew: true,
  text: `
     select j.job_id as "jobId", j.proc_name::text as kind, j.hypertable_schema || '.' || j.hypertable_name as of,
            case s.last_run_status when 'Failed' then 'failed' else 'overdue' end as state,
            coalesce(s.total_failures, 0) as failures,
            case when isfinite(s.last_run_started_at) then s.last_run_started_at end as "lastRunMs",
            case when s.last_run_status is distinct from 'Failed' then 'no background worker of the server runs it'
                 else coalesce((select e.err_message from timescaledb_information.job_errors e
                                where e.job_id = j.job_id order by e.start_time desc limit 1),
                               case when pg_has_role(current_user, j.owner, 'member') then 'it has no message'
                                    else 'only ' || j.owner || ' may read why' end) end as message
     from timescaledb_information.jobs j left join timescaledb_information.job_stats s using (job_id)
     where j.scheduled and coalesce(j.hypertable_schema, 'tidemark') = 'tidemark'
       and j.proc_schema = '_timescaledb_functions' and j.proc_name <> 'policy_telemetry'
       and (s.last_run_status = 'Failed' or ${isOverdue})
     -- Jobs of our tables first.
     order by j.hypertable_name is null, j.job_id`,
  row: {
    jobId: int4,
    /** The job's procedure, such as `policy_compression`. */
    kind: text,
    /** Its table or rollup; null: the extension's own tables. */
    of: nullable(text),
    /** `failed`: its last run failed. `overdue`: its run is more than an hour late. */
    state: oneOf<'failed' | 'overdue'>(),
    failures: int8,
    /** Start of its last run; null: never. */
    lastRunMs: nullable(time),
    message: text,
  },
});

const columnstoreTables = hypertables.filter(({ segmentBy }) => segmentBy !== null).map(({ name }) => name);

/**
 * Lists due chunks, the oldest first, including those that were written to since they were compressed. None
 * without TimescaleDB.
 *
 * @param query.afterDays age of a chunk's end at which it is due; 0: never.
 */
async function readDueChunks(database: Database, query: { nowMs: EpochMs; afterDays: number }): Promise<ChunkState[]> {
  if (query.afterDays === 0 || (await timescaleSchema(database.pool)) === null) return [];
  const beforeMs = query.nowMs - query.afterDays * dayMs;
  return listChunksInRows(database.pool, { tables: columnstoreTables, beforeMs });
}

/** Advisory lock: of several schedulers one moves chunks. */
const lockKey = 7_241_865_325_823_968n;

/**
 * Moves due chunks of the tables without a working policy, one at a time, each in a transaction of its own. A
 * chunk that waits for a lock is left for the next run.
 *
 * @param options.signal stops it, also within a chunk.
 * @param options.onMoved called for each chunk.
 * @param options.onFailed called for each chunk that could not be moved; the others still are.
 */
export async function moveDueChunks(
  database: Database,
  options: {
    readonly clock: Clock;
    readonly nowMs: EpochMs;
    readonly afterDays: number;
    readonly signal: AbortSignal;
    readonly onMoved: (moved: ChunkState & { readonly durationMs: number }) => void;
    readonly onFailed: (failed: ChunkState & { readonly error: unknown }) => void;
  },
): Promise<void> {
  if ((await readDueChunks(database, options)).length === 0) return;
  const tables = await tablesWithoutPolicy(database);
  if (tables.size === 0) return;
  await onLongConnection(database, options.signal, async (client) => {
    if (!(await tryLock.one(client, {})).mine) return;
    // Read under the lock: another scheduler may have merged a chunk into the one before it.
    for (const chunk of await readDueChunks(database, options)) {
      if (options.signal.aborted) return;
      if (!tables.has(chunk.table)) continue;
      const begun = options.clock.monotonicMs();
      try {
        if ((await movedChunk.one(client, chunk)).moved === null) continue;
        options.onMoved({ ...chunk, durationMs: Math.round(options.clock.monotonicMs() - begun) });
      } catch (error) {
        if (options.signal.aborted) return;
        if (!isLockWait(error)) options.onFailed({ ...chunk, error });
      }
    }
    await client.query('select pg_advisory_unlock($1)', [lockKey]);
  });
}

const tryLock = statement({
  name: 'try-lock-chunks',
  text: `select pg_try_advisory_lock(${lockKey}) as mine`,
  row: { mine: bool },
});

const movedChunk = statement({
  name: 'move-chunk',
  isPlannedAnew: true,
  text: 'select tidemark.move_chunk_to_columnstore($chunk) as moved',
  parameters: { chunk: text },
  row: { moved: nullable(text) },
});

const policies = statement({
  name: 'columnstore-policies',
  isPlannedAnew: true,
  text: `select job_id as "jobId", hypertable_name::text as table from timescaledb_information.jobs
         where proc_name = 'policy_compression' and hypertable_schema = 'tidemark'`,
  row: { jobId: int4, table: text },
});

/** Tables without a working policy. A paused policy counts as working. */
async function tablesWithoutPolicy(database: Database): Promise<Set<string>> {
  const failing = new Set((await readFailingJobs(database)).map(({ jobId }) => jobId));
  const kept = (await policies.on(database.pool, {})).filter(({ jobId }) => !failing.has(jobId));
  return new Set(columnstoreTables.filter((name) => !kept.some(({ table }) => table === name)));
}
