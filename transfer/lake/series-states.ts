/** What a lake has to know of each series: its covered months and when their points last changed. Never reads points. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { type Database, timestamp } from '../../store/db/database.ts';
import { rejectedPeriods } from '../../store/ledger/quarantine.ts';
import { rangesJson } from '../../store/series/gaps.ts';
import { type SeriesRow, seriesColumns, toSeriesKey } from '../../store/series/series.ts';

export interface SeriesState {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
  /** Coverage without the periods for which only rejected rows came. Sorted and disjoint, like the next one. */
  readonly covered: readonly Range[];
  readonly confirmedEmpty: readonly Range[];
  /** Mark of the newest change of a month's points, by name such as `2024-01`. */
  readonly changes: Readonly<Record<string, string>>;
}

interface Row extends SeriesRow {
  tracked_from: EpochMs;
  tracked_to: EpochMs | null;
  covered: Range[];
  confirmed_empty: Range[];
  changes: Record<string, string>;
}

/** Series of a page: few enough to bound memory. */
const pageSeries = 200;

/** Reads the states of all series, by id. */
export async function* readSeriesStates(database: Database): AsyncGenerator<SeriesState> {
  for (let after = 0; ; ) {
    const page = await read(database.pool, 's.id > $1 order by s.id limit $2', [after, pageSeries]);
    yield* page;
    after = page.at(-1)?.seriesId ?? after;
    if (page.length < pageSeries) return;
  }
}

/** @throws Error when there is no such series. */
export async function readSeriesState(client: pg.PoolClient, seriesId: number): Promise<SeriesState> {
  const [state] = await read(client, 's.id = $1', [seriesId]);
  if (state === undefined) throw new Error(`there is no series ${seriesId}`);
  return state;
}

async function read(
  client: pg.Pool | pg.PoolClient,
  chosen: string,
  values: readonly number[],
): Promise<SeriesState[]> {
  const result = await client.query<Row>(
    `with chosen as materialized (select s.* from tidemark.series s where ${chosen})
     select ${seriesColumns}, lower(s.tracked) as tracked_from, upper(s.tracked) as tracked_to,
            ${rangesJson(`s.covered - ${rejectedPeriods('lower(s.covered)', 'upper(s.covered)')}`)} as covered,
            ${rangesJson('s.confirmed_empty')} as confirmed_empty,
            (select coalesce(json_object_agg(to_char(m.month, 'YYYY-MM'),
                               to_char(m.changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), '{}')
             from tidemark.changed_months m where m.series_id = s.id) as changes
     from chosen s order by s.id`,
    [...values],
  );
  return result.rows.map((row) => ({
    seriesId: row.id,
    series: toSeriesKey(row),
    tracked: { startMs: row.tracked_from, endMs: row.tracked_to },
    covered: row.covered,
    confirmedEmpty: row.confirmed_empty,
    changes: row.changes,
  }));
}

/** Counts the revisions of a series' points in a range. */
export async function countRevisionsIn(
  client: pg.PoolClient,
  seriesId: number,
  { startMs, endMs }: Range,
): Promise<number> {
  const result = await client.query<{ revisions: number }>(
    `select count(*) as revisions from tidemark.point_revisions where series_id = $1 and time >= $2 and time < $3`,
    [seriesId, timestamp(startMs), timestamp(endMs)],
  );
  return result.rows[0]?.revisions ?? 0;
}
