/**
 * Applies retention: deletes the points before the cut, and in the same transaction the coverage and tracked
 * ranges before it. A crash leaves both or neither.
 *
 * A window that is fetched meanwhile may bring some of them back, with their coverage, until the next run.
 */

import type pg from 'pg';
import type { Clock } from '../../clock.ts';
import { type EpochMs, gridOriginMs } from '../../model/intervals.ts';
import { days, hours } from '../../model/rollup-levels.ts';
import type { StoredDataset } from '../../model/series.ts';
import { allowLong, type Database, inTransaction, isLockWait, timestamp } from '../db/database.ts';
import { dropChunks, isHypertable } from '../timescale/extension.ts';
import { listRetentions, retainedTables } from './retention.ts';

export interface Dropped {
  readonly dataset: StoredDataset;
  readonly cutMs: EpochMs;
  readonly points: number;
}

export interface RetentionOptions {
  readonly clock: Clock;
  readonly nowMs: EpochMs;
  /** Stops it, also within a statement. The next run deletes the rest. */
  readonly signal?: AbortSignal | undefined;
  /** Called each time that the lock on a dataset's table times out. It is retried after some seconds. */
  readonly onBusy?: ((dataset: StoredDataset) => void) | undefined;
}

/** Commits queue behind a waiting lock, so the timeout is short, and the pause before the retry is longer. */
const lockTimeoutMs = 1000;
const retryPauseMs = 5000;

/**
 * Applies every retention that is on. Nothing changes where no chunk is old enough.
 *
 * @throws the signal's reason when it stopped this.
 */
export async function applyRetention(database: Database, options: RetentionOptions): Promise<Dropped[]> {
  const { clock, signal } = options;
  const done: Dropped[] = [];
  for (const { dataset, cutMs } of await listRetentions(database, options.nowMs)) {
    let dropped: Dropped | null = null;
    while (dropped === null) {
      signal?.throwIfAborted();
      dropped = await dropBefore(database, dataset, cutMs, options).catch((error: unknown) => {
        signal?.throwIfAborted();
        if (!isLockWait(error)) throw error;
        options.onBusy?.(dataset);
        return null;
      });
      if (dropped === null) await clock.sleep(retryPauseMs, signal);
    }
    done.push(dropped);
  }
  return done;
}

/** Deletes the points of a dataset before `cutMs`, which is the start of a chunk. */
function dropBefore(
  database: Database,
  dataset: StoredDataset,
  cutMs: EpochMs,
  { nowMs, signal }: RetentionOptions,
): Promise<Dropped> {
  return inTransaction(database, async (client) => {
    // The first run may take long, and no client waits for it.
    const end = await allowLong(database, client, signal);
    try {
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
      const counts =
        dataset === 'rates' ? await dropRates(client, cutMs) : await dropPoints(client, dataset, cutMs, nowMs);
      return { dataset, cutMs, points: counts };
    } finally {
      await end();
    }
  });
}

async function dropRates(client: pg.PoolClient, cutMs: EpochMs): Promise<number> {
  const dropped = await dropRows(client, 'rate_points', 'currency_id', cutMs);
  return sum(dropped.values());
}

async function dropPoints(
  client: pg.PoolClient,
  dataset: Exclude<StoredDataset, 'rates'>,
  cutMs: EpochMs,
  nowMs: EpochMs,
): Promise<number> {
  const table = retainedTables[dataset];
  const dropped = await dropRows(client, table, 'series_id', cutMs);
  // Points first and then the series' rows, in the order of a commit: the other order could deadlock. The lock is a
  // statement of its own: a statement that waited for a commit still reads the points as they were before it.
  await client.query('select from tidemark.series where dataset = $1 order by id for no key update', [dataset]);
  // A period that holds the cut has lost its point, so the kept part of a series begins with the next period. A week
  // of a source may begin on any day, so one point of that period may be left, outside of coverage.
  await client.query(
    `with kept as (
       select s.id, date_bin(s.period, $2::timestamptz - interval '1 microsecond', $3) + s.period as since
       from tidemark.series s where s.dataset = $1
     ), gone as (
       select * from unnest($4::int[], $5::bigint[]) as g (id, points)
     )
     update tidemark.series s
        set tracked = case when isempty(s.tracked * tstzrange(k.since, null)) then s.tracked
                           else s.tracked * tstzrange(k.since, null) end,
            untracked_at = case when isempty(s.tracked * tstzrange(k.since, null))
                                then coalesce(s.untracked_at, $6) else s.untracked_at end,
            covered = s.covered * tstzmultirange(tstzrange(k.since, null)),
            confirmed_empty = s.confirmed_empty * tstzmultirange(tstzrange(k.since, null)),
            before_beginning = s.before_beginning * tstzmultirange(tstzrange(k.since, null)),
            rollups_behind = s.rollups_behind * tstzmultirange(tstzrange($2::timestamptz, null)),
            uncovered_points = (s.uncovered_points + s.covered * tstzmultirange(tstzrange($2::timestamptz, k.since)))
                               * tstzmultirange(tstzrange($2, null)),
            points = greatest(s.points - coalesce(g.points, 0), 0),
            earliest = case when s.earliest >= $2 then s.earliest
                            else (select min(p.time) from tidemark.${table} p
                                  where p.series_id = s.id and p.time >= $2) end,
            newest = case when s.newest >= $2 then s.newest end,
            newest_covered = case when s.newest_covered >= $2 then s.newest_covered end
       from kept k left join gone g using (id)
      where s.id = k.id
        and (lower(s.tracked) < k.since or lower(s.covered) < k.since or s.earliest < k.since or g.points > 0)`,
    [dataset, timestamp(cutMs), timestamp(gridOriginMs), [...dropped.keys()], [...dropped.values()], timestamp(nowMs)],
  );
  if (dataset === 'candles') {
    for (const { table } of [hours, days])
      await client.query(`delete from ${table} where time < $1`, [timestamp(cutMs)]);
  }
  const isBefore = {
    pending_windows: 'upper(o.range) <= $2',
    empty_answers: 'upper(o.range) <= $2',
    differences: 'o.time < $2',
    point_revisions: 'o.time < $2',
  };
  for (const [name, condition] of Object.entries(isBefore)) {
    await client.query(
      `delete from tidemark.${name} o using tidemark.series s
       where s.id = o.series_id and s.dataset = $1 and ${condition}`,
      [dataset, timestamp(cutMs)],
    );
  }
  return sum(dropped.values());
}

/** @returns the number of deleted rows by series or currency. */
async function dropRows(
  client: pg.PoolClient,
  table: string,
  line: 'series_id' | 'currency_id',
  cutMs: EpochMs,
): Promise<Map<number, number>> {
  const cut = timestamp(cutMs);
  const isChunked = await isHypertable(client, table);
  // No writer comes between the count and the drop. Readers are not blocked.
  if (isChunked) await client.query(`lock table only tidemark.${table} in exclusive mode`);
  const dropped = await client.query<{ line: number; points: number }>(
    isChunked
      ? `select ${line} as line, count(*) as points from tidemark.${table} where time < $1 group by ${line}`
      : `with gone as (delete from tidemark.${table} where time < $1 returning ${line})
         select ${line} as line, count(*) as points from gone group by ${line}`,
    [cut],
  );
  if (isChunked) await dropChunks(client, table, cut);
  return new Map(dropped.rows.map((row) => [row.line, row.points]));
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
