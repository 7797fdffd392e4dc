/** When what is confirmed to be empty was last answered so: what looked empty long ago may have been filled since. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import type { CoveredSeries } from '../planning/sample.ts';
import { type Database, timeRange, timestamp } from './database.ts';
import type { Judged } from './judged.ts';
import { seriesColumns, seriesOf } from './series.ts';
import type { RangeRow } from './series-ranges.ts';

/**
 * Takes down the empty answers among these, within the commit's transaction and after the coverage has moved: of what
 * is confirmed to be empty they are the newest word.
 */
export async function noteEmptyAnswers(client: pg.PoolClient, windows: readonly Judged[]): Promise<void> {
  for (const { seriesId, judgement, points, nowMs } of windows) {
    const silent = points.timesMs.length === 0 ? [judgement.covered] : judgement.rest;
    await noteEmpty(
      client,
      seriesId,
      silent.filter((range) => range !== null),
      nowMs,
    );
  }
}

/** The same of some ranges that were answered empty. */
export async function noteEmpty(
  client: pg.PoolClient,
  seriesId: number,
  ranges: readonly Range[],
  nowMs: EpochMs,
): Promise<void> {
  if (ranges.length === 0) return;
  await client.query({
    name: 'note-empty-answer',
    text: `with parts as (
             select part from tidemark.series s,
                  unnest(s.confirmed_empty * (select range_agg(r) from unnest($2::tstzrange[]) r)) part
             where s.id = $1
           ), replaced as (
             delete from tidemark.empty_answers e using parts
             where e.series_id = $1 and e.range <@ part and e.range <> part
           )
           insert into tidemark.empty_answers as e (series_id, range, answered_at) select $1, part, $3 from parts
           on conflict (series_id, range) do update set answered_at = greatest(e.answered_at, excluded.answered_at)`,
    values: [seriesId, ranges.map(({ startMs, endMs }) => timeRange(startMs, endMs)), timestamp(nowMs)],
  });
}

/** What of a series was confirmed to be empty, and was not answered so again for long. */
export interface OldEmpties extends CoveredSeries {
  /** What of it lies before the beginning of the series, and was asked for by days. */
  readonly before: readonly Range[];
  /** The earliest moment from which there is a point. */
  readonly knownMs: EpochMs | null;
}

/** @param sinceMs what was answered so again since is not among it. @param seriesIds absent: every series. */
export async function emptiesBefore(
  database: Database,
  sinceMs: EpochMs,
  seriesIds: readonly number[] | undefined,
): Promise<OldEmpties[]> {
  // What has been filled since is no longer among the confirmed, and these rows say nothing any more.
  await database.pool.query(
    `delete from tidemark.empty_answers e using tidemark.series s
     where s.id = e.series_id and not e.range && s.confirmed_empty`,
  );
  const result = await database.pool.query<RangeRow & { known: EpochMs | null; before: boolean }>(
    `with recent as (
       select series_id, range_agg(range) as ranges from tidemark.empty_answers where answered_at > $1 group by series_id
     ), old as (
       select s.*, s.confirmed_empty - coalesce(recent.ranges, '{}') as ranges
       from tidemark.series s left join recent on recent.series_id = s.id
       where $2::int[] is null or s.id = any ($2)
     ), parts as (
       select id, false as before, r from old, unnest(ranges - before_beginning) r
       union all
       select id, true, r from old, unnest(ranges * before_beginning) r
     )
     select ${seriesColumns}, lower(r) as start, upper(r) as end, parts.before, least(s.earliest, s.begins) as known
     from parts join old s on s.id = parts.id order by s.id, r`,
    [timestamp(sinceMs), seriesIds],
  );
  const found = new Map<number, OldEmpties & { ranges: Range[]; before: Range[] }>();
  for (const row of result.rows) {
    const { id: seriesId, start: startMs, end: endMs, known: knownMs } = row;
    const entry = found.get(seriesId) ?? { seriesId, series: seriesOf(row), ranges: [], before: [], knownMs };
    (row.before ? entry.before : entry.ranges).push({ startMs, endMs });
    found.set(seriesId, entry);
  }
  return [...found.values()];
}
