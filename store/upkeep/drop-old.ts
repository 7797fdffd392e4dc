/**
 * Applies retention: deletes the points before the cut, and in the same transaction the coverage and tracked
 * ranges before it. A crash leaves both or neither.
 *
 * A window that is fetched meanwhile may bring some of them back, with their coverage, until the next run.
 */

import type pg from 'pg';
import type { Clock } from '../../clock.ts';
import { type DatasetName, datasetNames, datasets } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { eachList, isPointList } from '../../model/lists/index.ts';
import { days, gridOrigin, hours } from '../../model/rollup-levels.ts';
import { type StoredDataset, storedTables } from '../../model/stored-datasets.ts';
import { sum } from '../../model/sum.ts';
import { allowLong, type Database, inTransaction, isLockWait } from '../db/database.ts';
import { int4, int8, rowsOf, statement, statementsBy, text, time } from '../db/statement.ts';
import { timestamp } from '../db/values.ts';
import { dropChunks, isHypertable } from '../timescale/extension.ts';
import { listRetentions } from './retention.ts';

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
      const counts = isPointList(dataset)
        ? sum((await dropRows(client, storedTables[dataset], cutMs)).values())
        : await dropPoints(client, dataset, cutMs, nowMs);
      return { dataset, cutMs, points: counts };
    } finally {
      await end();
    }
  });
}

async function dropPoints(
  client: pg.PoolClient,
  dataset: DatasetName,
  cutMs: EpochMs,
  nowMs: EpochMs,
): Promise<number> {
  const dropped = await dropRows(client, storedTables[dataset], cutMs);
  // Points first and then the series' rows, in the order of a commit: the other order could deadlock. The lock is a
  // statement of its own: a statement that waited for a commit still reads the points as they were before it.
  await client.query('select from tidemark.series where dataset = $1 order by id for no key update', [dataset]);
  await cutSeries(dataset).on(client, {
    ...{ dataset, cut: cutMs, now: nowMs },
    gone: [...dropped].map(([id, points]) => ({ id, points })),
  });
  if (datasets[dataset].longer === 'rolled up') {
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

const cutSeries = statementsBy(datasetNames, (name) =>
  // A period that holds the cut has lost its point, so the kept part of a series begins with the next period. A week
  // of a source may begin on any day, so one point of that period may be left, outside of coverage.
  statement({
    name: `cut-series-${name}`,
    isPlannedAnew: true,
    text: `
     with kept as (
       select s.id, date_bin(s.period, $cut - interval '1 microsecond', ${gridOrigin}) + s.period as since
       from tidemark.series s where s.dataset = $dataset
     ), gone as (
       select * from $gone
     )
     update tidemark.series s
        set tracked = case when isempty(s.tracked * tstzrange(k.since, null)) then s.tracked
                           else s.tracked * tstzrange(k.since, null) end,
            untracked_at = case when isempty(s.tracked * tstzrange(k.since, null))
                                then coalesce(s.untracked_at, $now) else s.untracked_at end,
            covered = s.covered * tstzmultirange(tstzrange(k.since, null)),
            confirmed_empty = s.confirmed_empty * tstzmultirange(tstzrange(k.since, null)),
            before_beginning = s.before_beginning * tstzmultirange(tstzrange(k.since, null)),
            rollups_behind = s.rollups_behind * tstzmultirange(tstzrange($cut, null)),
            uncovered_points = (s.uncovered_points + s.covered * tstzmultirange(tstzrange($cut, k.since)))
                               * tstzmultirange(tstzrange($cut, null)),
            points = greatest(s.points - coalesce(g.points, 0), 0),
            earliest = case when s.earliest >= $cut then s.earliest
                            else (select min(p.time) from tidemark.${datasets[name].table} p
                                  where p.series_id = s.id and p.time >= $cut) end,
            newest = case when s.newest >= $cut then s.newest end,
            newest_covered = case when s.newest_covered >= $cut then s.newest_covered end
       from kept k left join gone g using (id)
      where s.id = k.id
        and (lower(s.tracked) < k.since or lower(s.covered) < k.since or s.earliest < k.since or g.points > 0)`,
    parameters: { ...{ dataset: text, cut: time, now: time }, gone: rowsOf({ id: int4, points: int8 }) },
  }),
);

/** @returns the number of deleted rows by series or entry. */
async function dropRows(client: pg.PoolClient, table: string, cutMs: EpochMs): Promise<Map<number, number>> {
  const isChunked = await isHypertable(client, table);
  // No writer comes between the count and the drop. Readers are not blocked.
  if (isChunked) await client.query(`lock table only tidemark.${table} in exclusive mode`);
  const dropped = await countedOrDeleted(`${table} ${isChunked ? 'counted' : 'deleted'}`).on(client, { cut: cutMs });
  if (isChunked) await dropChunks(client, table, timestamp(cutMs));
  return new Map(dropped.map(({ line, points }) => [line, points]));
}

/** Old rows by series or entry: counted before the chunks of a hypertable are dropped, and deleted in a plain table. */
const countedOrDeleted = statementsBy(
  Object.values(storedTables).flatMap((table) => [`${table} counted`, `${table} deleted`]),
  (words: string) => {
    const [table = '', how] = words.split(' ');
    const line = eachList.find(({ tables }) => tables.states === table)?.tables.id ?? 'series_id';
    const rows = how === 'counted' ? `tidemark.${table} where time < $cut` : 'gone';
    const gone = `with gone as (delete from tidemark.${table} where time < $cut returning ${line})`;
    return statement({
      name: `old-rows ${words}`,
      isPlannedAnew: true,
      text: `${how === 'counted' ? '' : gone} select ${line} as line, count(*) as points from ${rows} group by ${line}`,
      parameters: { cut: time },
      row: { line: int4, points: int8 },
    });
  },
);
