/** What a commit has to know of its series before it writes. */

import type pg from 'pg';
import { timestamp } from './database.ts';
import { pointTables } from './points.ts';
import type { WindowCommit } from './windows.ts';

/** A largest answer older than this says nothing any more: a source may introduce a cap. */
const ofLateMs = 3_600_000;

/** `$1` series, `$2` what {@link ofLate} gives. */
const mostRows = 'case when most_rows_at > $2 then most_rows else 0 end as most_rows';

export function ofLate(commit: WindowCommit): string {
  return timestamp(commit.nowMs - ofLateMs);
}

export interface Standing {
  /** Whether any point of the window is stored. */
  readonly holdsAny: boolean;
  /** Rows of the series' largest answer of late, 0 when there was none. */
  readonly mostRows: number;
}

/** As of now: other windows of the series may be committed at the same time. */
export async function standingOf(client: pg.PoolClient, commit: WindowCommit): Promise<Standing> {
  const table = pointTables[commit.series.dataset];
  const result = await client.query<{ most_rows: number; holds_any: boolean }>({
    name: `standing-${table}`,
    text: `select ${mostRows}, exists (
             select from tidemark.${table} where series_id = $1 and time >= $3 and time < $4
           ) as holds_any
           from tidemark.series where id = $1`,
    values: [
      commit.seriesId,
      ofLate(commit),
      timestamp(commit.window.startMs),
      timestamp(commit.window.endMs),
    ],
  });
  const row = result.rows[0];
  return { holdsAny: row?.holds_any ?? false, mostRows: row?.most_rows ?? 0 };
}

/** {@link Standing.mostRows}, with the series' row locked: coverage moves one window at a time from here on. */
export async function lockedMostRows(client: pg.PoolClient, commit: WindowCommit): Promise<number> {
  const result = await client.query<{ most_rows: number }>({
    name: 'locked-most-rows',
    text: `select ${mostRows} from tidemark.series where id = $1 for no key update`,
    values: [commit.seriesId, ofLate(commit)],
  });
  return result.rows[0]?.most_rows ?? 0;
}
