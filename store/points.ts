/**
 * Writing points: new ones are inserted, changed ones updated with the old value kept as a revision, and
 * unchanged ones are not touched. The incoming points are joined against what is stored for their window first,
 * because an upsert would lock, and on TimescaleDB decompress, every row it meets.
 */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { Range } from '../planning/ranges.ts';
import { arrayOf, timestamp } from './database.ts';

/** Points of one series as columns: the form in which they travel to the database. */
export interface PointColumns {
  readonly dataset: 'candles' | 'asset_history';
  readonly timesMs: readonly EpochMs[];
  /** One array literal of decimals for each value column of the table. */
  readonly values: readonly string[];
}

export interface PointChanges {
  readonly fresh: number;
  readonly changed: number;
  readonly unchanged: number;
}

const noChanges: PointChanges = Object.freeze({ fresh: 0, changed: 0, unchanged: 0 });

/** Candles as columns, in the order of the table's. */
export function candleColumns(candles: readonly Candle[]): PointColumns {
  return {
    dataset: 'candles',
    timesMs: candles.map((candle) => candle.period),
    values: [
      arrayOf(candles.map((candle) => candle.open)),
      arrayOf(candles.map((candle) => candle.high)),
      arrayOf(candles.map((candle) => candle.low)),
      arrayOf(candles.map((candle) => candle.close)),
      arrayOf(candles.map((candle) => candle.volume)),
    ],
  };
}

export function historyColumns(points: readonly HistoryPoint[]): PointColumns {
  return {
    dataset: 'asset_history',
    timesMs: points.map((point) => point.time),
    values: [arrayOf(points.map((point) => point.priceUsd))],
  };
}

/**
 * Stores the points of a window within the caller's transaction.
 *
 * @returns the counts, or null when another transaction inserted some of the same points meanwhile: the caller
 * starts over and then sees them.
 */
export async function writePoints(
  client: pg.PoolClient,
  seriesId: number,
  window: Range,
  points: PointColumns,
  seenAtMs: EpochMs,
): Promise<PointChanges | null> {
  if (points.timesMs.length === 0) return noChanges;
  const statement = statements[points.dataset];
  const values = [
    seriesId,
    timestamp(window.startMs),
    timestamp(window.endMs),
    arrayOf(points.timesMs.map(timestamp)),
    ...points.values,
  ];
  const inserted = await client.query<{ missing: number; fresh: number; different: number }>({
    ...statement.insertNew,
    values,
  });
  const row = inserted.rows[0] ?? { missing: 0, fresh: 0, different: 0 };
  if (row.fresh < row.missing) return null;
  if (row.different > 0) {
    await client.query({ ...statement.updateChanged, values: [...values, timestamp(seenAtMs)] });
  }
  return {
    fresh: row.fresh,
    changed: row.different,
    unchanged: points.timesMs.length - row.fresh - row.different,
  };
}

const statements = Object.freeze({
  candles: writeStatements('candle_points', ['open', 'high', 'low', 'close', 'volume']),
  asset_history: writeStatements('asset_history_points', ['price_usd']),
});

/** `$1` series, `$2` and `$3` the window, `$4` times, `$5`... the value columns, then the time of seeing. */
function writeStatements(table: string, columns: readonly string[]) {
  const list = (prefix: string) => columns.map((column) => `${prefix}${column}`).join(', ');
  const arrays = columns.map((_, index) => `$${index + 5}::numeric[]`).join(', ');
  const incoming = `
    incoming as (
      select * from unnest($4::timestamptz[], ${arrays}) as t (time, ${list('')})
    ), stored as materialized (
      select time, ${list('')} from tidemark.${table} where series_id = $1 and time >= $2 and time < $3
    )`;
  const different = `(${list('i.')}) is distinct from (${list('s.')})`;
  return {
    insertNew: {
      name: `insert-new-${table}`,
      text: `with ${incoming}, missing as (
          select i.* from incoming i left join stored s on s.time = i.time where s.time is null
        ), fresh as (
          insert into tidemark.${table} (series_id, time, ${list('')})
          select $1, time, ${list('')} from missing
          on conflict do nothing
          returning 1
        )
        select (select count(*) from missing)::int as missing, (select count(*) from fresh)::int as fresh,
               (select count(*) from incoming i join stored s on s.time = i.time where ${different})::int as different`,
    },
    updateChanged: {
      name: `update-changed-${table}`,
      text: `with ${incoming}, different as (
          select i.*, jsonb_build_object(${columns.map((column) => `'${column}', s.${column}`).join(', ')}) as before
          from incoming i join stored s on s.time = i.time where ${different}
        ), updated as (
          update tidemark.${table} p set ${columns.map((column) => `${column} = d.${column}`).join(', ')}
          from different d
          where p.series_id = $1 and p.time = d.time and p.time >= $2 and p.time < $3
        )
        insert into tidemark.revisions (series_id, time, seen_at, before)
        select $1, time, $${columns.length + 5}, before from different
        on conflict do nothing`,
    },
  };
}
