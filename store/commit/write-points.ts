/**
 * Writes points: inserts new ones, updates changed ones, and leaves unchanged ones untouched. The old value
 * of a changed point becomes a revision, unless its candle was still open.
 *
 * The incoming points are joined with the stored ones of their window first: an upsert would lock every row
 * it meets, and on TimescaleDB decompress it. Windows that hold nothing yet, as in every backfill, are
 * written by COPY, which costs the server half as much.
 */

import { once } from 'node:events';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { codeOf } from '../../errors.ts';
import type { TupleRun } from '../../model/binary/tuples.ts';
import { byDataset, columnNames, type DatasetName, datasetNames } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { PointLines } from '../../model/point-lines.ts';
import type { Range } from '../../model/ranges.ts';
import { int4, jsonb, nullable, statement, time } from '../db/statement.ts';
import { binaryCopy, tupleCopy } from './binary-copy.ts';
import { pointSql } from './points.ts';

export interface PointChanges {
  readonly fresh: number;
  readonly changed: number;
  /** Changed points of closed periods. Their old values are kept. */
  readonly revised: number;
  readonly unchanged: number;
  /** The first few revisions, in order of time. */
  readonly revisions: readonly SeenRevision[];
  /** First and last of the new points in a time that was covered without them; null or absent: there is none. */
  readonly unexpected?: { readonly firstMs: EpochMs; readonly lastMs: EpochMs } | null;
}

/** A value of a closed period that the source changed, by column, as exact text. */
export interface SeenRevision {
  readonly timeMs: EpochMs;
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
}

/** Revisions of one window in its result, as for a line of the log. All are stored. */
const maxRevisions = 5;

export const noChanges: PointChanges = Object.freeze({ fresh: 0, changed: 0, revised: 0, unchanged: 0, revisions: [] });

/** Adds up the changes of several writes for one window. */
export function sumChanges(all: readonly PointChanges[]): PointChanges {
  const [only, another] = all;
  if (only !== undefined && another === undefined) return only;
  const sum = (count: (changes: PointChanges) => number) => all.reduce((total, one) => total + count(one), 0);
  const unexpected = all.flatMap((one) => (one.unexpected == null ? [] : [one.unexpected]));
  return {
    fresh: sum(({ fresh }) => fresh),
    changed: sum(({ changed }) => changed),
    revised: sum(({ revised }) => revised),
    unchanged: sum(({ unchanged }) => unchanged),
    revisions: all.flatMap(({ revisions }) => revisions).slice(0, maxRevisions),
    unexpected:
      unexpected.length === 0
        ? null
        : {
            firstMs: Math.min(...unexpected.map(({ firstMs }) => firstMs)),
            lastMs: Math.max(...unexpected.map(({ lastMs }) => lastMs)),
          },
  };
}

export interface WindowPoints {
  readonly window: Range & { readonly seriesId: number };
  readonly points: PointLines;
}

/**
 * Stores the points of windows that hold nothing yet, within the caller's transaction.
 *
 * @returns false when one of the points is stored already, or given twice: the caller can only roll back.
 */
export async function copyPoints(client: pg.PoolClient, windows: readonly WindowPoints[]): Promise<boolean> {
  for (const dataset of datasetNames) {
    const copied = windows.filter(({ points }) => points.dataset === dataset && points.timesMs.length > 0);
    if (copied.length === 0) continue;
    const pieces = binaryCopy(
      copied.map(({ window, points }) => ({ seriesId: window.seriesId, points })),
      columnNames[dataset].length,
    );
    if (!(await copyData(client, statements[dataset].copyNew, pieces))) return false;
  }
  return true;
}

/** Stores points of a series, as {@link copyPoints} does. */
export async function copyTuples(
  client: pg.PoolClient,
  dataset: DatasetName,
  runs: readonly TupleRun[],
  seriesId: number,
): Promise<boolean> {
  return runs.length === 0 || (await copyData(client, statements[dataset].copyNew, tupleCopy(runs, seriesId)));
}

/**
 * Merges the points of a window with the stored ones, within the caller's transaction.
 *
 * @returns the counts, or null when another transaction inserted some of the same points meanwhile: the
 * caller rolls back, starts over, and then sees them.
 */
export async function mergePoints(
  client: pg.PoolClient,
  { window, points }: WindowPoints,
  seenAtMs: EpochMs,
): Promise<PointChanges | null> {
  if (points.timesMs.length === 0) return noChanges;
  const { insertNew, updateChanged } = statements[points.dataset];
  const { seriesId, startMs: start, endMs: end } = window;
  const incoming = { points, seriesId, start, end };
  const row = await insertNew.one(client, incoming);
  if (row.fresh < row.missing) return null;
  const kept =
    row.different > 0
      ? await updateChanged.one(client, { ...incoming, seenAt: seenAtMs })
      : { revised: 0, revisions: [] };
  return {
    fresh: row.fresh,
    changed: row.different,
    ...kept,
    unchanged: points.timesMs.length - row.fresh - row.different,
    unexpected:
      row.firstUnexpected === null || row.lastUnexpected === null
        ? null
        : { firstMs: row.firstUnexpected, lastMs: row.lastUnexpected },
  };
}

const statements = byDataset((_, name) => writeStatements(name));

function writeStatements(dataset: PointLines['dataset']) {
  const { table, list, different, revised, assignments, object, parameters, ...points } = pointSql(dataset);
  const incoming = `incoming as (${points.incoming}), stored as materialized (${points.stored})`;
  return {
    copyNew: `copy ${table} (series_id, time, ${list('')}) from stdin (format binary)`,
    insertNew: statement({
      name: `insert-new-${dataset}`,
      text: `with ${incoming}, missing as (
          select i.* from incoming i left join stored s on s.time = i.time where s.time is null
        ), fresh as (
          insert into ${table} (series_id, time, ${list('')})
          select $seriesId, time, ${list('')} from missing
          on conflict do nothing
          returning time
        ), unexpected as (
          select min(time) as first, max(time) as last
          from fresh where (select covered from tidemark.series where id = $seriesId) @> time
        )
        select (select count(*) from missing)::int as missing, (select count(*) from fresh)::int as fresh,
               (select count(*) from incoming i join stored s on s.time = i.time where ${different})::int as different,
               first as "firstUnexpected", last as "lastUnexpected"
        from unexpected`,
      parameters,
      row: {
        ...{ missing: int4, fresh: int4, different: int4 },
        ...{ firstUnexpected: nullable(time), lastUnexpected: nullable(time) },
      },
    }),
    // With a generic plan TimescaleDB 2.28 decompresses every row of the chunk to update one (measured: 432,003 instead
    // of 2,000).
    updateChanged: statement({
      name: `update-changed-${dataset}`,
      isPlannedAnew: true,
      text: `with ${incoming}, different as (
          select i.*, ${revised} as is_revised, ${object('s')} as before, ${object('s', '::text')} as was,
            ${object('i', '::text')} as became
          from incoming i join stored s on s.time = i.time where ${different}
        ), updated as (
          update ${table} p set ${assignments}
          from different d
          where p.series_id = $seriesId and p.time = d.time and p.time >= $start and p.time < $end
        ), kept as (
          insert into tidemark.point_revisions (series_id, time, seen_at, before)
          select $seriesId, d.time, $seenAt, d.before
          from different d join tidemark.series s on s.id = $seriesId and s.covered @> d.time and d.is_revised
          on conflict do nothing
          returning time
        )
        select (select count(*) from kept)::int as revised,
               (select coalesce(jsonb_agg(jsonb_build_object(
                          'timeMs', (extract(epoch from time) * 1000)::bigint, 'before', was, 'after',
                            became) order by time), '[]')
                from (select d.* from different d join kept using (time) order by time limit ${maxRevisions}) told) as
                  revisions`,
      parameters: { ...parameters, seenAt: time },
      row: { revised: int4, revisions: jsonb<readonly SeenRevision[]>() },
    }),
  };
}

/** Adds the windows' revisions to the count of their series, within the commit's transaction. */
export async function countRevisions(
  client: pg.PoolClient,
  windows: ReadonlyArray<{ readonly window: { readonly seriesId: number }; readonly changes: PointChanges }>,
): Promise<void> {
  for (const { window, changes } of windows) {
    if (changes.revised === 0) continue;
    await client.query('update tidemark.series set revised = revised + $2 where id = $1', [
      window.seriesId,
      changes.revised,
    ]);
  }
}

const uniqueViolation = '23505';

/**
 * Sends the data of a COPY, within the caller's transaction.
 *
 * @param statement `copy ... from stdin`, in the format of the pieces.
 * @param pieces each is made when the connection takes it.
 * @returns false when a row with the same key exists. The transaction can then only be rolled back.
 */
export async function copyData(client: pg.PoolClient, statement: string, pieces: Iterable<Buffer>): Promise<boolean> {
  const stream = client.query(copyFrom(statement));
  const finished = once(stream, 'finish');
  // A connection that times out emits two errors. Nobody listens to the second one.
  stream.on('error', () => {});
  const write = async () => {
    for (const piece of pieces) if (!stream.write(piece)) await once(stream, 'drain');
    stream.end();
  };
  try {
    await Promise.all([finished, write()]);
    return true;
  } catch (error) {
    // The server waits for the rest when a piece cannot be made, and would not answer to a rollback.
    stream.destroy();
    if (codeOf(error) === uniqueViolation) return false;
    throw error;
  }
}
