/** What commits have to know of their series before they write. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
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
 * What shares a cap on rows: a source that has one has it for an address and an interval, whatever is asked for there.
 */
export function capOf({ dataset, interval }: SeriesKey): string {
  return `${dataset} ${interval}`;
}

/**
 * Rows of the largest answer of late under each cap, the windows' own included. The series' rows are locked, in order:
 * their coverage moves one commit at a time from here on.
 */
export async function lockedMostRows(
  client: pg.PoolClient,
  windows: ReadonlyArray<{ seriesId: number; series: SeriesKey; rows: number }>,
  nowMs: EpochMs,
): Promise<Map<string, number>> {
  await client.query({
    name: 'lock-series',
    text: 'select from tidemark.series where id = any ($1) order by id for no key update',
    values: [arrayOf(windows.map(({ seriesId }) => String(seriesId)))],
  });
  const result = await client.query<{ dataset: string; interval: string; most_rows: number }>({
    name: 'most-rows',
    text: `select dataset, interval, max(most_rows) as most_rows from tidemark.series
           where most_rows_at > $1 group by dataset, interval`,
    values: [timestamp(nowMs - ofLateMs)],
  });
  const most = new Map(result.rows.map((row) => [`${row.dataset} ${row.interval}`, row.most_rows]));
  for (const { series, rows } of windows) {
    const cap = capOf(series);
    most.set(cap, Math.max(most.get(cap) ?? 0, rows));
  }
  return most;
}
