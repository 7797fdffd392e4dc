/**
 * Writing points: new ones are inserted, changed ones updated with the old value kept as a revision (but for a candle
 * that was still open: that it changes is its nature), and unchanged ones are not touched. The incoming points are joined against what is stored for their window first,
 * because an upsert would lock, and on TimescaleDB decompress, every row it meets. A window that holds nothing yet,
 * as in every backfill, takes them by COPY, at half of what that join and insert costs the server.
 */

import type pg from 'pg';
import type { DecimalText } from '../contract/decimal.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { Range } from '../planning/ranges.ts';
import { copyRows } from './copy.ts';
import { arrayOf, timestamp, timestamps } from './database.ts';

/** Points of one series as columns. */
export interface PointColumns {
  readonly dataset: 'candles' | 'asset_history';
  readonly timesMs: readonly EpochMs[];
  /** The decimals of each value column of the table. */
  readonly values: ReadonlyArray<readonly DecimalText[]>;
}

export interface PointChanges {
  readonly fresh: number;
  readonly changed: number;
  readonly unchanged: number;
}

export const pointTables = Object.freeze({ candles: 'candle_points', asset_history: 'asset_history_points' });

const noChanges: PointChanges = Object.freeze({ fresh: 0, changed: 0, unchanged: 0 });

/** Candles as columns, in the order of the table's. */
export function candleColumns(candles: readonly Candle[]): PointColumns {
  return {
    dataset: 'candles',
    timesMs: candles.map((candle) => candle.period),
    values: [
      candles.map((candle) => candle.open),
      candles.map((candle) => candle.high),
      candles.map((candle) => candle.low),
      candles.map((candle) => candle.close),
      candles.map((candle) => candle.volume),
    ],
  };
}

export function historyColumns(points: readonly HistoryPoint[]): PointColumns {
  return {
    dataset: 'asset_history',
    timesMs: points.map((point) => point.time),
    values: [points.map((point) => point.priceUsd)],
  };
}

/**
 * Stores the points of a window within the caller's transaction.
 *
 * @param known.holdsAny whether any point of the window was stored a moment ago.
 * @returns the counts, or null when another transaction inserted some of the same points meanwhile: the caller
 * rolls back, starts over, and then sees them.
 */
export async function writePoints(
  client: pg.PoolClient,
  seriesId: number,
  window: Range,
  points: PointColumns,
  known: { holdsAny: boolean; seenAtMs: EpochMs },
): Promise<PointChanges | null> {
  if (points.timesMs.length === 0) return noChanges;
  const statement = statements[points.dataset];
  const times = timestamps(points.timesMs);
  if (!known.holdsAny) {
    const isCopied = await copyRows(client, statement.copyNew, String(seriesId), [times, ...points.values]);
    return isCopied ? { fresh: times.length, changed: 0, unchanged: 0 } : null;
  }
  const values = [
    seriesId,
    timestamp(window.startMs),
    timestamp(window.endMs),
    arrayOf(times),
    ...points.values.map(arrayOf),
  ];
  const inserted = await client.query<{ missing: number; fresh: number; different: number }>({
    ...statement.insertNew,
    values,
  });
  const row = inserted.rows[0] ?? { missing: 0, fresh: 0, different: 0 };
  if (row.fresh < row.missing) return null;
  if (row.different > 0) {
    await client.query({ ...statement.updateChanged, values: [...values, timestamp(known.seenAtMs)] });
  }
  return {
    fresh: row.fresh,
    changed: row.different,
    unchanged: points.timesMs.length - row.fresh - row.different,
  };
}

const statements = Object.freeze({
  candles: writeStatements(pointTables.candles, ['open', 'high', 'low', 'close', 'volume']),
  asset_history: writeStatements(pointTables.asset_history, ['price_usd']),
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
    copyNew: `copy tidemark.${table} (series_id, time, ${list('')}) from stdin`,
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
        select $1, d.time, $${columns.length + 5}, d.before
        from different d join tidemark.series s on s.id = $1 and s.covered @> d.time
        on conflict do nothing`,
    },
  };
}
