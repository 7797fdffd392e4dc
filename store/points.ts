/**
 * Writing points: new ones are inserted, changed ones updated with the old value kept as a revision (but for a candle
 * that was still open: that it changes is its nature), and unchanged ones are not touched. The incoming points are
 * joined against what is stored for their window first, because an upsert would lock, and on TimescaleDB decompress,
 * every row it meets. Windows that hold nothing yet, as in every backfill, take them by COPY, at half of what that
 * join and insert costs the server.
 */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import { copyLines } from './copy.ts';
import { timestamp } from './database.ts';
import type { PointLines } from './point-lines.ts';
import { pointArrays, pointSql } from './point-sql.ts';

export interface PointChanges {
  readonly fresh: number;
  readonly changed: number;
  /** Of the changed, those of closed periods: their old values are kept. */
  readonly revised: number;
  readonly unchanged: number;
  /** The first few of the revised, in order of time. */
  readonly revisions: readonly SeenRevision[];
}

/** A value of a closed period that the source changed, by column, digit by digit. */
export interface SeenRevision {
  readonly timeMs: EpochMs;
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
}

/** How many revisions of one window are told, as in a line of the log. All are kept. */
const mostTold = 5;

export const noChanges: PointChanges = Object.freeze({
  fresh: 0,
  changed: 0,
  revised: 0,
  unchanged: 0,
  revisions: [],
});

export interface WindowPoints {
  readonly seriesId: number;
  readonly window: Range;
  readonly points: PointLines;
}

/**
 * Stores the points of windows that hold nothing yet, within the caller's transaction.
 *
 * @returns false when one of the points was stored after all, or is given twice: the caller can only roll back.
 */
export async function copyPoints(client: pg.PoolClient, windows: readonly WindowPoints[]): Promise<boolean> {
  for (const dataset of ['candles', 'asset_history'] as const) {
    const lines = windows.flatMap(({ points }) =>
      points.dataset === dataset && points.lines.length > 0 ? [points.lines] : [],
    );
    if (lines.length > 0 && !(await copyLines(client, statements[dataset].copyNew, lines))) return false;
  }
  return true;
}

/**
 * Stores the points of a window, joined against what is stored there, within the caller's transaction.
 *
 * @returns the counts, or null when another transaction inserted some of the same points meanwhile: the caller
 * rolls back, starts over, and then sees them.
 */
export async function mergePoints(
  client: pg.PoolClient,
  { seriesId, window, points }: WindowPoints,
  seenAtMs: EpochMs,
): Promise<PointChanges | null> {
  if (points.timesMs.length === 0) return noChanges;
  const statement = statements[points.dataset];
  const values = [seriesId, timestamp(window.startMs), timestamp(window.endMs), ...pointArrays(points)];
  const inserted = await client.query<{ missing: number; fresh: number; different: number }>({
    ...statement.insertNew,
    values,
  });
  const row = inserted.rows[0] ?? { missing: 0, fresh: 0, different: 0 };
  if (row.fresh < row.missing) return null;
  let kept: Kept = { revised: 0, revisions: [] };
  if (row.different > 0) {
    const updated = await client.query<Kept>({
      ...statement.updateChanged,
      values: [...values, timestamp(seenAtMs)],
    });
    kept = updated.rows[0] ?? kept;
  }
  return {
    fresh: row.fresh,
    changed: row.different,
    ...kept,
    unchanged: points.timesMs.length - row.fresh - row.different,
  };
}

type Kept = Pick<PointChanges, 'revised' | 'revisions'>;

const statements = Object.freeze({
  candles: writeStatements('candles'),
  asset_history: writeStatements('asset_history'),
});

/** `$1` series, `$2` and `$3` the window, `$4` times, `$5`... the value columns, then the time of seeing. */
function writeStatements(dataset: PointLines['dataset']) {
  const { table, columns, list, different, object, ...points } = pointSql(dataset, 4);
  const incoming = `incoming as (${points.incoming}), stored as materialized (${points.stored})`;
  return {
    copyNew: `copy ${table} (series_id, time, ${list('')}) from stdin`,
    insertNew: {
      name: `insert-new-${dataset}`,
      text: `with ${incoming}, missing as (
          select i.* from incoming i left join stored s on s.time = i.time where s.time is null
        ), fresh as (
          insert into ${table} (series_id, time, ${list('')})
          select $1, time, ${list('')} from missing
          on conflict do nothing
          returning 1
        )
        select (select count(*) from missing)::int as missing, (select count(*) from fresh)::int as fresh,
               (select count(*) from incoming i join stored s on s.time = i.time where ${different})::int as different`,
    },
    // Without a name, and so planned for its values each time: by a plan for any values TimescaleDB 2.28 decompresses
    // every row of the chunk to update one (measured: 432,003 instead of 2,000).
    updateChanged: {
      text: `with ${incoming}, different as (
          select i.*, ${object('s')} as before, ${object('s', '::text')} as was, ${object('i', '::text')} as became
          from incoming i join stored s on s.time = i.time where ${different}
        ), updated as (
          update ${table} p set ${columns.map((column) => `${column} = d.${column}`).join(', ')}
          from different d
          where p.series_id = $1 and p.time = d.time and p.time >= $2 and p.time < $3
        ), kept as (
          insert into tidemark.point_revisions (series_id, time, seen_at, before)
          select $1, d.time, $${columns.length + 5}, d.before
          from different d join tidemark.series s on s.id = $1 and s.covered @> d.time
          on conflict do nothing
          returning time
        )
        select (select count(*) from kept)::int as revised,
               (select coalesce(jsonb_agg(jsonb_build_object(
                          'timeMs', (extract(epoch from time) * 1000)::bigint, 'before', was, 'after', became) order by time), '[]')
                from (select d.* from different d join kept using (time) order by time limit ${mostTold}) told) as revisions`,
    },
  };
}
