/**
 * Ranges to read again: trailing ranges of this round (planning/reread.ts), and ranges that were confirmed
 * empty long ago, which the source may have filled since.
 */

import type pg from 'pg';
import { type EpochMs, gridOriginMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { RereadDue } from '../../planning/reread.ts';
import type { CoveredSeries } from '../../planning/sample.ts';
import type { Database } from '../db/database.ts';
import { int4, range, statement, time } from '../db/statement.ts';
import { timestamp } from '../db/values.ts';
import { groupBySeries, type RangeRow } from '../series/ranges.ts';
import { seriesColumns, toSeriesKey } from '../series/series.ts';
import { isOfSource, nameOfText } from '../series/sources.ts';
import type { EvaluatedWindow } from './evaluate-answers.ts';

export interface RereadQuery {
  /** Start of the round. */
  readonly roundMs: EpochMs;
  readonly nowMs: EpochMs;
  /** Length of the trailing range. */
  readonly rangeMs: number;
  readonly everyMs: number;
  /** Limit on series. Those whose last re-read is longest ago come first. */
  readonly limit: number;
  readonly seriesIds?: readonly number[] | undefined;
  /** Absent: all. */
  readonly source?: string | undefined;
}

/**
 * Series whose covered trailing range was not read again in this round. Left out are series with a gap in
 * that range: filling it comes first, and the rest would cost a request of its own. So are series that began
 * in this round: all of their data is fresh.
 */
export async function readDueRereads(database: Database, query: RereadQuery): Promise<RereadDue[]> {
  const { source } = query;
  const ofSource = source === undefined ? '$7::text is null' : isOfSource(source, '$7');
  const origin = `'${new Date(gridOriginMs).toISOString()}'`;
  const result = await database.pool.query<RangeRow>({
    name: `rereads-due ${nameOfText(source)}`,
    text: `
      with ranged as (
        select s.*, date_bin(s.period, $2::timestamptz - make_interval(secs => $3::double precision / 1000), ${origin}) as since,
               least(upper(s.tracked), date_bin(s.period, $2::timestamptz, ${origin})) as until
        from tidemark.series s
        where s.untracked_at is null and (s.blocked_until is null or s.blocked_until <= $1)
          and ($5::int[] is null or s.id = any ($5)) and ${ofSource}
          and not (s.created_at >= $2 and s.created_at < $2::timestamptz + make_interval(secs => $6::double precision / 1000))
      ), held as (
        select series_id, range_agg(range) as ranges from tidemark.pending_windows where retry_at > $1 group by series_id
      ), due as (
        select s.*, s.covered * wanted - case when s.reread_round = $2 then s.reread else '{}' end
                    - coalesce(h.ranges, '{}') as left_over
        from ranged s left join held h on h.series_id = s.id,
             lateral (select tstzmultirange(s.tracked * tstzrange(s.since, s.until)) as wanted) w
        where s.since < s.until and wanted - s.covered <@ coalesce(h.ranges, '{}')
      ), first as (
        select * from due where not isempty(left_over) order by reread_at nulls first, id limit $4
      )
      select ${seriesColumns}, lower(r) as start, upper(r) as end
      from first s, unnest(s.left_over) r
      order by s.reread_at nulls first, s.id, r`,
    values: [
      timestamp(query.nowMs),
      timestamp(query.roundMs),
      query.rangeMs,
      query.limit,
      query.seriesIds,
      query.everyMs,
      source,
    ],
  });
  return groupBySeries(result.rows);
}

/**
 * Records which part of the trailing range the windows of a round have read, within the commit's transaction.
 * The part beyond a truncated answer stays to be read in this round.
 */
export async function markReread(client: pg.PoolClient, windows: readonly EvaluatedWindow[]): Promise<void> {
  for (const { window, evaluation, nowMs } of windows) {
    if (window.lane !== 'reread' || evaluation.covered === null) continue;
    const { seriesId } = window;
    const read = { seriesId, read: evaluation.covered };
    await mark.on(client, { ...read, round: window.roundMs, now: nowMs });
    await deleteDeferred.on(client, read);
  }
}

const mark = statement({
  name: 'mark-reread',
  text: `update tidemark.series
            set reread = tstzmultirange($read) + case when reread_round = $round then reread else '{}' end,
                reread_round = $round, reread_at = greatest(reread_at, $now)
          where id = $seriesId and (reread_round is null or reread_round <= $round)`,
  parameters: { seriesId: int4, read: range, round: time, now: time },
  row: {},
});

const deleteDeferred = statement({
  name: 'delete-reread',
  text: `delete from tidemark.pending_windows where series_id = $seriesId and of_covered and range <@ $read`,
  parameters: { seriesId: int4, read: range },
  row: {},
});

/** Confirmed empty ranges of a series without a recent answer. */
export interface OldEmptyRanges extends CoveredSeries {
  /** Confirmed empty ranges before the beginning of the series, which were requested by days. */
  readonly before: readonly Range[];
  /** The earliest time with a point. */
  readonly knownMs: EpochMs | null;
}

/**
 * @param sinceMs ranges that were answered empty again since are left out. @param seriesIds absent: every
 * series.
 */
export async function readOldEmptyRanges(
  database: Database,
  sinceMs: EpochMs,
  seriesIds: readonly number[] | undefined,
): Promise<OldEmptyRanges[]> {
  // Ranges that have been filled since are no longer confirmed empty, and their rows are obsolete.
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
  const found = new Map<number, OldEmptyRanges & { ranges: Range[]; before: Range[] }>();
  for (const row of result.rows) {
    const { id: seriesId, start: startMs, end: endMs, known: knownMs } = row;
    const entry = found.get(seriesId) ?? {
      seriesId,
      series: toSeriesKey(row),
      ranges: [],
      before: [],
      knownMs,
    };
    (row.before ? entry.before : entry.ranges).push({ startMs, endMs });
    found.set(seriesId, entry);
  }
  return [...found.values()];
}
