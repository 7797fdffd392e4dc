/**
 * Deletes series with all that is stored of them.
 *
 *   begun   One transaction deletes the row of the series and what refers to it, and records the deletion. From then on
 *           no view has the series, and a commit that is under way finds no row to lock, and rolls back (lock.ts).
 *   going   Points, revisions and the ledger have no foreign key: they are deleted in pieces, a transaction each.
 *   ended   The record says what was deleted.
 *
 * A process that is killed leaves it going. The next deletion ends it first. Ids are never used again.
 */

import { dayMs, type EpochMs, type Range } from '../../model/intervals.ts';
import { type Database, inTransaction } from '../db/database.ts';
import {
  bool,
  int4,
  int8,
  jsonb,
  listOf,
  nullable,
  type RowOf,
  statement,
  statementsBy,
  text,
  time,
} from '../db/statement.ts';
import { timestamp } from '../db/values.ts';
import { hypertables } from '../timescale/hypertables.ts';
import { isNamed, seriesColumns, seriesKey } from './series.ts';

export type StoredData = RowOf<typeof countData.row>;

/** What is stored of each series. */
export const countData = statement({
  name: 'data-of-series',
  isPlannedAnew: true,
  text: `
    select ${seriesColumns}, s.points, s.earliest, s.newest,
           s.untracked_at is null and ${isNamed} as "isWatched",
           (select count(*) from tidemark.fetches f where f.series_id = s.id) as requests,
           (select count(*) from tidemark.point_revisions r where r.series_id = s.id) as revisions,
           (select count(*) from tidemark.quarantine q where q.dataset = s.dataset and coalesce(q.series_id, 0) = s.id)
             as rejected,
           array(select source from tidemark.series_sources o where o.series_id = s.id order by rank) as sources,
           (select max(b.id) from tidemark.backfill_series o join tidemark.backfills b on b.id = o.backfill_id
            where o.series_id = s.id and b.ended_at is null and b.seen_at > now() - interval '30 seconds') as running
    from tidemark.series s where s.id = any ($seriesIds) order by s.id`,
  parameters: { seriesIds: listOf(int4) },
  row: {
    ...{ id: int4, series: seriesKey, points: int8, earliest: nullable(time), newest: nullable(time) },
    /** Whether the watch list asks for it, and the backfill of a process that runs and asks for it. */
    ...{ isWatched: bool, requests: int8, revisions: int8, rejected: int8 },
    ...{ sources: listOf(text), running: nullable(int8) },
  },
});

/** A deletion that has begun, as its record has it. */
export type Deletion = Omit<StoredData, 'isWatched' | 'running'>;
export type OpenDeletion = RowOf<typeof openDeletions.row>;

/** Whether the role of the connection may delete series: only the owner may. */
export const mayDeleteSeries = statement({
  name: 'may-delete-series',
  text: `select current_user::text as role, has_table_privilege('tidemark.series', 'delete') as may`,
  row: { role: text, may: bool },
});

/** Deletions that have begun and not ended, the oldest first. */
export const openDeletions = statement({
  name: 'open-deletions',
  text: `select id, request from tidemark.actions where action = 'delete' and state = 'running' order by id`,
  row: { id: int8, request: jsonb<Deletion>() },
});

/** Deletes the row of a series. @param by user@host. @returns null: another process has deleted it. */
export function beginDeletion(
  database: Database,
  { isWatched: _, running: __, ...request }: StoredData,
  { by, nowMs }: { readonly by: string; readonly nowMs: EpochMs },
): Promise<OpenDeletion | null> {
  return inTransaction(database, async (client) => {
    const { id: seriesId } = request;
    // It waits for commits that have locked the series: their points are deleted too.
    if ((await deleteSeries.on(client, { seriesId })).length === 0) return null;
    await endBackfills.on(client, { seriesId, nowMs });
    return { ...(await record.one(client, { nowMs, request, by })), request };
  });
}

const deleteSeries = statement({
  name: 'delete-series',
  text: 'delete from tidemark.series where id = $seriesId returning id',
  parameters: { seriesId: int4 },
  row: { id: int4 },
});

/** Ends the backfills that asked for nothing else. */
const endBackfills = statement({
  name: 'end-backfills-of-deleted',
  text: `
    update tidemark.backfills b set state = 'cancelled', result = 'its series was deleted', ended_at = $nowMs
    where b.ended_at is null
      and exists (select from tidemark.backfill_series o where o.backfill_id = b.id and o.series_id = $seriesId)
      and not exists (select from tidemark.backfill_series o where o.backfill_id = b.id and o.series_id <> $seriesId)`,
  parameters: { seriesId: int4, nowMs: time },
});

const record = statement({
  name: 'record-deletion',
  text: `insert into tidemark.actions (time, action, request, address, state)
         values ($nowMs, 'delete', $request, $by, 'running') returning id`,
  parameters: { nowMs: time, request: jsonb<Deletion>(), by: text },
  row: { id: int8 },
});

/**
 * Deletes what is left of a series whose row is gone, piece by piece.
 *
 * @param onPiece is told how many rows are deleted. @throws the signal's reason when it stopped this.
 */
export async function deleteRows(
  database: Database,
  seriesId: number,
  { signal, onPiece }: { readonly signal?: AbortSignal | undefined; readonly onPiece?: (rows: number) => void },
): Promise<void> {
  let rows = 0;
  for (const { table, hasTime } of await tablesOfSeries.on(database.pool, {})) {
    const pieces = hasTime ? piecesOf(table, await spanOf(table).on(database.pool, { seriesId })) : [undefined];
    for (const within of pieces) {
      signal?.throwIfAborted();
      rows += await inTransaction(database, async (client) => {
        // A chunk of one series is far below what TimescaleDB's limit is for.
        await client.query('set local timescaledb.max_tuples_decompressed_per_dml_transaction = 0');
        const where = within === undefined ? '' : ' and time >= $2 and time < $3';
        const values = within === undefined ? [] : [timestamp(within.startMs), timestamp(within.endMs)];
        const sql = `delete from tidemark.${table} where series_id = $1${where}`;
        return (await client.query(sql, [seriesId, ...values])).rowCount ?? 0;
      });
      onPiece?.(rows);
    }
  }
}

/** Those of other tables went with the row of the series. */
const tablesOfSeries = statement({
  name: 'tables-of-series',
  isPlannedAnew: true,
  text: `
    select c.relname::text as table,
           exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'time') as "hasTime"
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'series_id' and not a.attisdropped
    where c.relnamespace = 'tidemark'::regnamespace and c.relkind in ('r', 'p') and not exists (
      select from pg_constraint f where f.conrelid = c.oid and f.confrelid = 'tidemark.series'::regclass)
    order by 1`,
  row: { table: text, hasTime: bool },
});

/** Days in a piece of a table without chunks. */
const defaultDays = 30;

/** A piece is a chunk, where there are chunks: so each compressed one is decompressed once. */
function piecesOf(table: string, [span]: readonly RowOf<{ first: typeof time; last: typeof time }>[]): Range[] {
  if (span === undefined) return [];
  const lengthMs = (hypertables.find(({ name }) => name === table)?.chunkDays ?? defaultDays) * dayMs;
  const pieces: Range[] = [];
  for (let startMs = Math.floor(span.first / lengthMs) * lengthMs; startMs <= span.last; startMs += lengthMs)
    pieces.push({ startMs, endMs: startMs + lengthMs });
  return pieces;
}

const spanOf = statementsBy(['fetches', 'point_revisions'] as readonly string[], (table) =>
  statement({
    name: `span-of-${table}`,
    isPlannedAnew: true,
    text: `select min(time) as first, max(time) as last from tidemark.${table}
           where series_id = $seriesId having min(time) is not null`,
    parameters: { seriesId: int4 },
    row: { first: time, last: time },
  }),
);

/** Records that a deletion has ended. */
export const endDeletion = statement({
  name: 'end-deletion',
  text: `update tidemark.actions set state = 'done', result = $result, ended_at = $nowMs where id = $id`,
  parameters: { id: int8, result: text, nowMs: time },
});
