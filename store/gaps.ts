/** What is missing: tracked range, up to the last closed period, minus coverage. */

import { type EpochMs, gridOriginMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { SeriesGaps } from '../planning/plan.ts';
import type { Range } from '../planning/ranges.ts';
import { type Database, timestamp } from './database.ts';
import { type SeriesRow, seriesColumns, seriesOf } from './series.ts';

/**
 * Series with their last closed period (`closed_up_to`), for now and the grace in milliseconds, both as SQL. The grid
 * is the one of `contract/intervals.ts`.
 */
export function closedSeriesAt(now: string, graceMs: string): string {
  return `
  select s.*, date_bin(s.period, ${now} - make_interval(secs => ${graceMs} / 1000),
                       '${new Date(gridOriginMs).toISOString()}') as closed_up_to
  from tidemark.series s`;
}

/** {@link closedSeriesAt} for `$1` now and `$2` grace. */
export const closedSeries = closedSeriesAt('$1::timestamptz', '$2::double precision');

/** The gaps of a row of {@link closedSeries}, as a multirange. */
export const missingRanges = `
  case when s.closed_up_to > lower(s.tracked)
       then tstzmultirange(s.tracked * tstzrange(null, s.closed_up_to)) - s.covered
       else '{}'::tstzmultirange end`;

/** What is wanted of a row of {@link closedSeries}: all that is tracked and closed, as a multirange. */
export const wantedRanges = `
  case when s.closed_up_to > lower(s.tracked)
       then tstzmultirange(s.tracked * tstzrange(null, s.closed_up_to)) else '{}' end`;

/** Total length of a multirange, as an expression for milliseconds. */
export function lengthMsOf(multirange: string): string {
  return `(select coalesce(sum(extract(epoch from upper(r) - lower(r)) * 1000), 0)::bigint from unnest(${multirange}) r)`;
}

export interface GapsQuery {
  readonly nowMs: EpochMs;
  readonly graceMs: number;
  /** Least time between two readings of an open candle; null: open candles are not asked for. */
  readonly openRefreshMs: number | null;
  /** Only these series; absent: all that are tracked. */
  readonly seriesIds?: readonly number[] | undefined;
  /** At most this many of a series' oldest gaps, and always its newest. */
  readonly rangesPerSeries: number;
}

interface GapRow extends SeriesRow {
  readonly closed_up_to: EpochMs;
  readonly tracked_from: EpochMs;
  readonly newest: EpochMs | null;
  readonly reaches_now: boolean;
  readonly refresh_due: boolean;
  readonly begun: EpochMs | null;
  readonly may_probe: boolean;
  readonly is_asked: boolean;
  readonly gap_start: EpochMs | null;
  readonly gap_end: EpochMs | null;
}

/**
 * The series that have something to ask for now. Windows that failed or answered empty are left out until their
 * time comes, and so are series that the source refuses as a whole.
 */
export async function seriesWithGaps(database: Database, query: GapsQuery): Promise<SeriesGaps[]> {
  const result = await database.pool.query<GapRow>({
    name: 'series-with-gaps',
    text: `
      with closed as (${closedSeries}
        where s.untracked_at is null
          and (s.blocked_until is null or s.blocked_until <= $1)
          and ($4::int[] is null or s.id = any ($4))
      ), wanted as materialized (  -- else the gaps are computed anew for each one of them
        select ${seriesColumns}, s.closed_up_to, s.newest, lower(s.tracked) as tracked_from,
               lower(s.tracked) <= $1 and (upper_inf(s.tracked) or upper(s.tracked) > $1) as reaches_now,
               $3::double precision is not null and not (s.dataset = 'asset_history' and s.interval = 'd1')
                 and (s.refreshed_at is null
                 or s.refreshed_at <= $1 - make_interval(secs => $3 / 1000)) as refresh_due,
               ${missingRanges} - coalesce(p.ranges, '{}') as gaps,
               coalesce(p.ranges @> s.closed_up_to, false) as tail_waits,
               least(s.earliest, s.begins) as begun, coalesce(s.probe_after <= $1, true) as may_probe,
               least(p.asked_from, lower(s.confirmed_empty)) as asked_from
        from closed s
        left join (select series_id, range_agg(range) filter (where retry_at > $1) as ranges,
                          min(lower(range)) as asked_from
                   from tidemark.pending_windows group by series_id) p on p.series_id = s.id
      )
      select id, dataset, exchange_id, base_id, quote_id, asset_id, interval, closed_up_to, newest, tracked_from,
             begun, may_probe, coalesce(asked_from < coalesce(begun, 'infinity'), false) as is_asked,
             reaches_now, refresh_due and reaches_now and not tail_waits as refresh_due,
             lower(gap) as gap_start, upper(gap) as gap_end
      from wanted
      left join lateral (
        select gap from unnest(gaps) with ordinality as u (gap, place)
        where place <= $5 or upper(gap) = upper(gaps)
      ) g on true
      where gap is not null or (refresh_due and reaches_now and not tail_waits)
      order by id, gap`,
    values: [
      timestamp(query.nowMs),
      query.graceMs,
      query.openRefreshMs,
      query.seriesIds,
      query.rangesPerSeries,
    ],
  });
  const found = new Map<number, SeriesGaps & { gaps: Range[] }>();
  for (const row of result.rows) {
    let entry = found.get(row.id);
    if (entry === undefined) {
      entry = {
        seriesId: row.id,
        series: seriesOf(row),
        gaps: [],
        closedUpToMs: row.closed_up_to,
        trackedFromMs: row.tracked_from,
        newestMs: row.newest,
        reachesNow: row.reaches_now,
        refreshDue: row.refresh_due,
        beginning: { knownMs: row.begun, isAsked: row.is_asked, mayProbe: row.may_probe },
      };
      found.set(row.id, entry);
    }
    if (row.gap_start !== null && row.gap_end !== null) {
      entry.gaps.push({ startMs: row.gap_start, endMs: row.gap_end });
    }
  }
  return [...found.values()];
}

/** Why a gap is still one. */
export type GapReason = 'not_asked' | 'awaits_second_answer' | 'failed' | 'stale' | 'blocked';

export interface Gap extends Range {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly reason: GapReason;
  /** What the source said, for a reason that has it. */
  readonly message: string | null;
  /** When it is asked for again; null: as soon as the budget allows. */
  readonly retryAtMs: EpochMs | null;
}

/**
 * Every gap as a range, cut where the reason changes, as SQL: for {@link listGaps} and for the view `gaps` alike.
 *
 * @param at now and the grace in milliseconds, as SQL; `which` is a condition on the series `s`.
 */
export function gapPieces(at: { now: string; graceMs: string; which: string }): string {
  return `
     with closed as (${closedSeriesAt(at.now, at.graceMs)} where s.untracked_at is null and ${at.which}),
     missing as (
       select ${seriesColumns}, s.blocked_until, s.blocked_message, ${missingRanges} as gaps from closed s
     ), waiting as (
       select m.id, p.verdict, p.message, p.retry_at, tstzmultirange(p.range) * m.gaps as ranges
       from missing m join tidemark.pending_windows p on p.series_id = m.id and p.range && m.gaps
     ), pieces as (
       select m.id, 'not_asked' as verdict, null::text as message, null::timestamptz as retry_at,
              m.gaps - coalesce((select range_agg(r) from waiting w, unnest(w.ranges) r where w.id = m.id), '{}') as ranges
       from missing m
       union all select id, verdict, message, retry_at, ranges from waiting
     )
     select ${seriesColumns}, lower(gap) as gap_start, upper(gap) as gap_end,
            case when s.blocked_until > ${at.now} then 'blocked'
                 when verdict = 'empty' then 'awaits_second_answer' else verdict end as reason,
            case when s.blocked_until > ${at.now} then s.blocked_message else message end as message,
            case when s.blocked_until > ${at.now} then s.blocked_until else retry_at end as retry_at
     from pieces join missing s using (id), unnest(ranges) gap`;
}

/** Every gap as a range, cut where the reason changes, in order of series and time. */
export async function listGaps(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; seriesIds?: readonly number[] | undefined },
): Promise<Gap[]> {
  const result = await database.pool.query<
    SeriesRow & {
      gap_start: EpochMs;
      gap_end: EpochMs;
      reason: GapReason;
      message: string | null;
      retry_at: EpochMs | null;
    }
  >(
    `${gapPieces({
      now: '$1::timestamptz',
      graceMs: '$2::double precision',
      which: '($3::int[] is null or s.id = any ($3))',
    })}
     order by s.id, gap`,
    [timestamp(query.nowMs), query.graceMs, query.seriesIds],
  );
  return result.rows.map((row) => ({
    seriesId: row.id,
    series: seriesOf(row),
    startMs: row.gap_start,
    endMs: row.gap_end,
    reason: row.reason,
    message: row.message,
    retryAtMs: row.retry_at,
  }));
}
