/**
 * Refreshes the stored rollups.
 *
 * A commit that changes points adds their days to `rollups_behind` of its series, in its transaction. A refresh derives
 * such days again and removes them from it. So it costs as much as what has changed, whatever else is stored.
 */

import type pg from 'pg';
import type { Clock } from '../../clock.ts';
import { dayMs, type EpochMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { days, hours } from '../../model/rollup-levels.ts';
import { type Database, inTransaction, isLockWait } from '../db/database.ts';
import { float8, int4, listOf, nullable, type RowOf, statement, time } from '../db/statement.ts';
import { timestamp } from '../db/values.ts';
import { isSeriesGone, lockSeries } from '../series/lock.ts';
import { isRolledUp } from '../series/rollups-behind.ts';
import { isHypertable } from '../timescale/extension.ts';
import { bucketColumns, candleColumns } from './rollup-definitions.ts';

export interface RefreshOptions {
  readonly clock: Clock;
  readonly nowMs: EpochMs;
  /** Absent: of every series. */
  readonly seriesIds?: readonly number[] | undefined;
  /** Stops it after the present piece. Finished pieces stay. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each series. */
  readonly onSeries?: (done: number, of: number) => void;
}

/** Whole days of a series. */
export type RangeBehind = RowOf<(typeof behindSince)['row']>;

/** The current day changes all the time. Its last candles come within the hour after it. */
const restMs = hourMs;

const lockedPauseMs = 500;

/** Points of a transaction: a month of minutes, which takes some tenths of a second. */
const pointsOfPiece = (30 * dayMs) / minuteMs;

/**
 * Lists the days that were changed since they were rolled up. Queries derive them from the points.
 *
 * @param query.nowMs leaves out days that had not ended; absent: includes them.
 */
export function rangesBehind(
  database: Database,
  { nowMs, seriesIds = null }: { nowMs?: EpochMs; seriesIds?: readonly number[] | null | undefined } = {},
): Promise<RangeBehind[]> {
  const endMs = nowMs === undefined ? null : Math.floor((nowMs - restMs) / dayMs) * dayMs;
  return behindSince.on(database.pool, { endMs, seriesIds });
}

const behindSince = statement({
  name: 'ranges-behind',
  isPlannedAnew: true,
  text: `
    select s.id as "seriesId", extract(epoch from s.period)::float8 * 1000 as "periodMs",
           lower(behind) as "startMs", upper(behind) as "endMs"
    from tidemark.series s, unnest(s.rollups_behind * tstzmultirange(tstzrange(null, $endMs))) behind
    where s.${isRolledUp} and s.rollups_behind <> '{}' and ($seriesIds is null or s.id = any ($seriesIds))
    order by s.id, behind`,
  parameters: { endMs: nullable(time), seriesIds: nullable(listOf(int4)) },
  row: { seriesId: int4, periodMs: float8, startMs: time, endMs: time },
});

/**
 * Derives every day again that has changed and has ended. Several processes may do so at once. Series whose rows
 * another session locks, as while a chunk moves to the columnstore, come last, and are awaited.
 *
 * @returns false when the signal stopped it.
 */
export async function refreshRollups(database: Database, options: RefreshOptions): Promise<boolean> {
  const { clock, signal, onSeries } = options;
  let left = await rangesBehind(database, options);
  if (left.length === 0) return true;
  const timescale = await isHypertable(database.pool, 'candle_points');
  const all = new Set(left.map(({ seriesId }) => seriesId));
  const begun = new Set<number>();
  while (left.length > 0) {
    const locked: RangeBehind[] = [];
    for (const range of left) {
      if (!begun.has(range.seriesId)) onSeries?.(begun.size, all.size);
      begun.add(range.seriesId);
      try {
        for (const piece of piecesOf(range)) {
          if (signal?.aborted === true) return false;
          await inTransaction(database, (client) => rollUp(client, piece, timescale));
        }
      } catch (error) {
        if (isLockWait(error)) locked.push(range);
        else if (!isSeriesGone(error)) throw error;
      }
    }
    left = locked;
    if (left.length > 0) await clock.sleep(lockedPauseMs, signal);
  }
  return true;
}

function piecesOf(range: RangeBehind): RangeBehind[] {
  const { startMs, endMs, periodMs } = range;
  const pieceMs = Math.floor((pointsOfPiece * periodMs) / dayMs) * dayMs;
  const pieces: RangeBehind[] = [];
  for (let fromMs = startMs; fromMs < endMs; fromMs += pieceMs)
    pieces.push({ ...range, startMs: fromMs, endMs: Math.min(endMs, fromMs + pieceMs) });
  return pieces;
}

async function rollUp(client: pg.PoolClient, piece: RangeBehind, timescale: boolean): Promise<void> {
  const { seriesId, periodMs } = piece;
  const values = [seriesId, timestamp(piece.startMs), timestamp(piece.endMs)];
  const within = 'series_id = $1 and time >= $2 and time < $3';
  // Points first and then the series' row, in the order of a commit and of retention: the other order could deadlock.
  await client.query(`select from tidemark.candle_points where ${within} limit 1`, values);
  // A commit that has not ended locks the row too, or adds its days again afterwards.
  await lockSeries(client, [seriesId]);
  const fromPoints = [hours, days].filter((rollup) => periodMs < rollup.periodMs)[0];
  for (const rollup of [hours, days]) {
    if (periodMs >= rollup.periodMs) continue;
    const isFirst = rollup === fromPoints;
    await client.query(`delete from ${rollup.table} where ${within}`, values);
    await client.query(
      `insert into ${rollup.table} (${candleColumns}, points, series_id)
       select ${bucketColumns(rollup, timescale)}, ${isFirst ? 'count(*)' : 'sum(points)'}, $1
       from ${isFirst ? 'tidemark.candle_points' : hours.table} where ${within} group by 1`,
      values,
    );
  }
  await client.query(
    'update tidemark.series set rollups_behind = rollups_behind - tstzmultirange(tstzrange($2, $3)) where id = $1',
    values,
  );
}
