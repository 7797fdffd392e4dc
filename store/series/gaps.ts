/** Gaps: tracked range, up to the last closed period, minus coverage. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Reason, ShownReason } from '../../model/reasons.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { Beginning } from '../../planning/beginning.ts';
import type { SeriesGaps } from '../../planning/plan.ts';
import { type Database, timestamp } from '../db/database.ts';
import { hasReason } from './gap-reasons.ts';
import { type SeriesRow, seriesColumns, splitSeriesRow } from './series.ts';
import { isLackOfBetterSource, isOfSource, nameOfText } from './sources.ts';

/** The arguments `at` and `grace` of functions such as `tidemark.closed_series`: `$1` now, and `$2` the grace in milliseconds. */
export const atAndGrace = '$1::timestamptz, make_interval(secs => $2::double precision / 1000)';

/** Total length of a multirange in milliseconds, as SQL. (`date_part` is a double: twice as fast as `extract`, and exact for these.) */
export function multirangeLengthMs(multirange: string): string {
  return `(select coalesce(sum(date_part('epoch', upper(r) - lower(r)) * 1000), 0)::bigint from unnest(${multirange}) r)`;
}

/** The ranges of a multirange as JSON of {@link Range}, ascending, as SQL. */
export function rangesJson(multirange: string): string {
  const ms = (bound: string) => `(extract(epoch from ${bound}(r)) * 1000)::bigint`;
  return `(select coalesce(json_agg(json_build_object('startMs', ${ms('lower')}, 'endMs', ${ms('upper')}) order by r), '[]')
           from unnest(${multirange}) r)`;
}

export interface GapsQuery {
  readonly nowMs: EpochMs;
  readonly graceMs: number;
  /** Least time between two requests for an open candle; null: open candles are not requested. */
  readonly openRefreshMs: number | null;
  /** Only series of this source, unless it does not know them; absent: of all. */
  readonly source?: string | undefined;
  /** Only these series; absent: all tracked ones. */
  readonly seriesIds?: readonly number[] | undefined;
  /** Limit on a series' oldest gaps. The newest gap is always included. */
  readonly rangesPerSeries: number;
  /** Only as many series as a pass can request; absent: all. */
  readonly first?: FirstSeries | undefined;
}

/** The series that are furthest behind, and those with earlier gaps that come first in turn: up to twice `count`. */
export interface FirstSeries {
  readonly count: number;
  /** The turn begins after this series. */
  readonly cursor: number;
}

/** Whether the source of a row of `series_sources` may know the series, as SQL. */
const mayKnow = 'coalesce(blocked_until <= $1, true)';

/** A newest gap of fewer periods is one request, by the longest ranges in `v2/limits.ts`. */
const periodsOfTail = 500;

type GapRow = SeriesRow &
  Omit<SeriesGaps, 'seriesId' | 'series' | 'gaps' | 'silent' | 'beginning'> &
  Beginning & {
    readonly gapStartMs: EpochMs | null;
    readonly gapEndMs: EpochMs | null;
    readonly silent: readonly Range[] | null;
  };

/**
 * The series with gaps that are due now. Deferred windows are left out until their time comes, and so are
 * series that the source refuses. All are compared in the database, and only those of `first` are read.
 */
export async function seriesWithGaps(database: Database, query: GapsQuery): Promise<SeriesGaps[]> {
  const { source } = query;
  const notLacked = source === undefined ? '' : ` and not ${isLackOfBetterSource('$8')}`;
  const result = await database.pool.query<GapRow>({
    // One for each text.
    name: `series-with-gaps ${nameOfText(source)}`,
    text: `
      with closed as (
        select * from tidemark.closed_series(${atAndGrace}) s
        where s.untracked_at is null
          and (s.blocked_until is null or s.blocked_until <= $1)
          and ($4::int[] is null or s.id = any ($4))
          and ${source === undefined ? '$8::text is null' : isOfSource(source, '$8', mayKnow)}
      ), waiting as materialized (
        select series_id, range_agg(range) filter (where retry_at > $1${notLacked}) as ranges,
               min(lower(range)) as asked_from,
               range_agg(range) filter (where ${hasReason('reason', (rule) => rule.isAskedAlone)}) as silent
        from tidemark.pending_windows p group by series_id
      ), due as materialized (  -- materialized: else the gaps are computed again for each use
        select s.id, s.newest, s.period, s.closed_up_to, s.missing - coalesce(p.ranges, '{}') as gaps,
               lower(s.tracked) <= $1 and (upper_inf(s.tracked) or upper(s.tracked) > $1) as reaches_now,
               $3::double precision is not null and not (s.dataset = 'asset_history' and s.interval = 'd1')
                 and (s.refreshed_at is null or s.refreshed_at <= $1 - make_interval(secs => $3 / 1000))
                 and lower(s.tracked) <= $1 and (upper_inf(s.tracked) or upper(s.tracked) > $1)
                 and not coalesce(p.ranges @> s.closed_up_to, false) as refresh_due
        from closed s left join waiting p on p.series_id = s.id
      ), chosen as (
        (select id from due where reaches_now and (refresh_due or upper(gaps) = closed_up_to)
         order by newest nulls first, id limit $6)
        union
        (select id from due
         where gaps <> '{}' and (not reaches_now or upper(gaps) < closed_up_to or gaps <> range_merge(gaps)::tstzmultirange
                                 or lower(gaps) < closed_up_to - ${periodsOfTail} * period)
         order by id <= $7, id limit $6)
      ), wanted as (
        select ${seriesColumns}, d.closed_up_to, coalesce(s.newest_covered, s.newest) as newest, lower(s.tracked) as tracked_from, d.reaches_now, d.refresh_due,
               d.gaps, least(s.earliest, s.begins) as begun, coalesce(s.probe_after <= $1, true) as may_probe,
               least(p.asked_from, lower(s.confirmed_empty)) as asked_from, p.silent
        from chosen join due d using (id) join tidemark.series s using (id) left join waiting p on p.series_id = s.id
      )
      select id, dataset, exchange_id, base_id, quote_id, asset_id, interval, closed_up_to as "closedUpToMs",
             newest as "newestMs", tracked_from as "trackedFromMs", begun as "knownMs", may_probe as "mayProbe",
             coalesce(asked_from < coalesce(begun, 'infinity'), false) as "isAsked", reaches_now as "reachesNow",
             refresh_due as "refreshDue",
             lower(gap) as "gapStartMs", upper(gap) as "gapEndMs",
             case when silent && gap then ${rangesJson('silent * tstzmultirange(gap)')} end as silent
      from wanted
      left join lateral (
        select gap from unnest(gaps) with ordinality as u (gap, place)
        where place <= $5 or upper(gap) = upper(gaps)
      ) g on true
      where gap is not null or refresh_due
      order by id, gap`,
    values: [
      timestamp(query.nowMs),
      query.graceMs,
      query.openRefreshMs,
      query.seriesIds,
      query.rangesPerSeries,
      query.first?.count,
      query.first?.cursor ?? 0,
      source,
    ],
  });
  const found = new Map<number, SeriesGaps & { gaps: Range[]; silent: Range[] }>();
  for (const row of result.rows) {
    const { gapStartMs, gapEndMs, silent, knownMs, isAsked, mayProbe, ...series } = splitSeriesRow(row);
    const entry = found.get(row.id) ?? {
      ...series,
      gaps: [],
      silent: [],
      beginning: { knownMs, isAsked, mayProbe },
    };
    found.set(row.id, entry);
    if (gapStartMs === null || gapEndMs === null) continue;
    entry.gaps.push({ startMs: gapStartMs, endMs: gapEndMs });
    entry.silent.push(...(silent ?? []));
  }
  return [...found.values()];
}

export interface Gap extends Range {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly reason: ShownReason;
  readonly cause: Reason;
  /** The source's message, or the error. */
  readonly message: string | null;
  /** The source that said so; null: none was asked, or all are refused. */
  readonly source: string | null;
  /** Time of the next request; null: as soon as the budget allows. */
  readonly retryAtMs: EpochMs | null;
  /** When it, or a window that overlaps it, was first deferred; null: it is not deferred. */
  readonly sinceMs: EpochMs | null;
}

/**
 * Lists every gap as a range, split where the reason changes, in order of series and time.
 *
 * @param query.ledger whether recent failed requests give the reason where nothing is deferred: too slow for a loop.
 */
export async function listGaps(
  database: Database,
  query: Pick<GapsQuery, 'nowMs' | 'graceMs' | 'seriesIds'> & { ledger?: boolean },
): Promise<Gap[]> {
  const result = await database.pool.query<
    SeriesRow &
      Pick<Gap, 'reason' | 'cause' | 'message' | 'source'> & {
        gap_start: EpochMs;
        gap_end: EpochMs;
        retry_at: EpochMs | null;
        since: EpochMs | null;
      }
  >(`select * from tidemark.gap_pieces(${atAndGrace}, $3, $4) order by id, gap_start`, [
    timestamp(query.nowMs),
    query.graceMs,
    query.seriesIds,
    query.ledger === true,
  ]);
  return result.rows.map((row) => {
    const { gap_start, gap_end, retry_at, since, ...gap } = splitSeriesRow(row);
    return { ...gap, startMs: gap_start, endMs: gap_end, retryAtMs: retry_at, sinceMs: since };
  });
}
