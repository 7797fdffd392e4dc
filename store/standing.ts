/** What commits have to know of their series before they write. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import { arrayOf, timeRange, timestamp } from './database.ts';

/** A largest answer older than this says nothing any more: a source may introduce a cap. */
export const ofLateMs = 3_600_000;

/**
 * For each window, whether points of it may be stored, by what its series' row says: a question to the points
 * themselves would visit every chunk. As of now: other windows may be committed at the same time.
 */
export async function mayHold(
  client: pg.PoolClient,
  windows: ReadonlyArray<{ seriesId: number; window: Range }>,
): Promise<boolean[]> {
  const result = await client.query<{ may_hold: boolean }>({
    name: 'may-hold',
    text: `select s.covered && w.range or s.uncovered_points && w.range as may_hold
           from unnest($1::int[], $2::tstzrange[]) with ordinality as w (series_id, range, place)
           join tidemark.series s on s.id = w.series_id
           order by w.place`,
    values: [
      arrayOf(windows.map(({ seriesId }) => String(seriesId))),
      windows.map(({ window }) => timeRange(window.startMs, window.endMs)),
    ],
  });
  return result.rows.map((row) => row.may_hold);
}

/**
 * Rows of the largest answer of late of each series, 0 when there was none. The series' rows are locked, in order:
 * their coverage moves one commit at a time from here on.
 */
export async function lockedMostRows(
  client: pg.PoolClient,
  seriesIds: readonly number[],
  nowMs: EpochMs,
): Promise<Map<number, number>> {
  const result = await client.query<{ id: number; most_rows: number }>({
    name: 'locked-most-rows',
    text: `select id, case when most_rows_at > $2 then most_rows else 0 end as most_rows
           from tidemark.series where id = any ($1) order by id for no key update`,
    values: [arrayOf(seriesIds.map(String)), timestamp(nowMs - ofLateMs)],
  });
  return new Map(result.rows.map((row) => [row.id, row.most_rows]));
}
