/** Gaps: tracked range, up to the last closed period, minus coverage. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Reason, ShownReason } from '../../model/reasons.ts';
import type { SeriesGaps } from '../../planning/plan.ts';
import type { Database } from '../db/database.ts';
import {
  bool,
  float8,
  int4,
  int8,
  listOf,
  nullable,
  oneOf,
  type RowOf,
  range,
  ranges,
  statement,
  text,
  time,
} from '../db/statement.ts';
import { neverPauses } from './never-pauses.ts';
import { hasReason } from './reason-sets.ts';
import { hasOpen, identity, identityColumns, keyColumns } from './series.ts';
import { byKindOfSource, isLackOfBetterSource, isOfSource } from './sources.ts';

/** The arguments `at` and `grace` of functions such as `tidemark.closed_series`, with {@link nowAndGrace}. */
export const atAndGrace = '$nowMs, make_interval(secs => $graceMs / 1000)';
export const nowAndGrace = { nowMs: time, graceMs: float8 };

/**
 * Total length of a multirange in milliseconds, as SQL. (`date_part` is a double: twice as fast as `extract`, and exact
 * for these.)
 */
export function multirangeLengthMs(multirange: string): string {
  return (
    `(select coalesce(sum(date_part('epoch', upper(r) - lower(r)) * 1000), 0)::bigint from ` +
    `unnest(${multirange}) r)`
  );
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
const mayKnow = 'coalesce(blocked_until <= $nowMs, true)';

/** A newest gap of fewer periods is one request, by the longest ranges in `v2/limits.ts`. */
const periodsOfTail = 500;

/**
 * The series with gaps that are due now. Deferred windows are left out until their time comes, and so are
 * series that the source refuses. All are compared in the database, and only those of `first` are read.
 */
export async function seriesWithGaps(database: Database, query: GapsQuery): Promise<SeriesGaps[]> {
  const { first, seriesIds = null, source = null } = query;
  const limits = { count: first?.count ?? null, cursor: first?.cursor ?? 0 };
  const rows = await seriesDue(query.source).on(database.pool, { ...query, seriesIds, source, ...limits });
  const found = new Map<number, SeriesGaps & { gaps: Range[]; silent: Range[] }>();
  for (const { gap, silent, knownMs, isAsked, mayProbe, ...series } of rows) {
    const entry = found.get(series.seriesId) ?? {
      ...series,
      gaps: [],
      silent: [],
      beginning: { knownMs, isAsked, mayProbe },
    };
    found.set(series.seriesId, entry);
    if (gap === null) continue;
    entry.gaps.push(gap);
    entry.silent.push(...(silent ?? []));
  }
  return [...found.values()];
}

const seriesDue = byKindOfSource((source, ofKind) => {
  const notLacked = source === undefined ? '' : ` and not ${isLackOfBetterSource('$source')}`;
  return statement({
    name: `series-with-gaps ${ofKind}`,
    text: `
      with closed as (
        select * from tidemark.closed_series(${atAndGrace}) s
        where s.untracked_at is null
          and (s.blocked_until is null or s.blocked_until <= $nowMs)
          and ($seriesIds is null or s.id = any ($seriesIds))
          and ${source === undefined ? '$source is null' : isOfSource(source, '$source', mayKnow)}
      ), waiting as materialized (
        select series_id,
               range_agg(range) filter (where retry_at > $nowMs and not of_covered${notLacked}) as ranges,
               min(lower(range)) filter (where not of_covered) as asked_from,
               range_agg(range) filter (where ${hasReason('reason', (rule) => rule.isAskedAlone)}) as silent
        from tidemark.pending_windows p group by series_id
      ), due as materialized (  -- materialized: else the gaps are computed again for each use
        select s.id, s.newest, s.period, s.closed_up_to, s.missing - coalesce(p.ranges, '{}') as gaps,
               lower(s.tracked) <= $nowMs and (upper_inf(s.tracked) or upper(s.tracked) > $nowMs) as reaches_now,
               $openRefreshMs is not null
                 and (s.refreshed_at is null or s.refreshed_at <= $nowMs - make_interval(secs => $openRefreshMs / 1000))
                 and lower(s.tracked) <= $nowMs and (upper_inf(s.tracked) or upper(s.tracked) > $nowMs)
                 and not coalesce(p.ranges @> s.closed_up_to, false) and ${hasOpen} as refresh_due
        from closed s left join waiting p on p.series_id = s.id
      ), chosen as (
        (select id from due where reaches_now and (refresh_due or upper(gaps) = closed_up_to)
         order by newest nulls first, id limit $count)
        union
        (select id from due
         where gaps <> '{}' and (not reaches_now or upper(gaps) < closed_up_to or gaps <>
           range_merge(gaps)::tstzmultirange
                                 or lower(gaps) < closed_up_to - ${periodsOfTail} * period)
         order by id <= $cursor, id limit $count)
      ), wanted as (
        select ${identityColumns}, d.closed_up_to, coalesce(s.newest_covered, s.newest) as newest,
               lower(s.tracked) as tracked_from, d.reaches_now, d.refresh_due, d.gaps,
               least(s.earliest, s.begins) as begun, coalesce(s.probe_after <= $nowMs, true) as may_probe,
               least(p.asked_from, lower(s.confirmed_empty)) as asked_from,
               -- Between two points of a series that never pauses only points beside a range prove something of it.
               p.silent - ${neverPauses()} as silent
        from chosen join due d using (id) join tidemark.series s using (id) left join waiting p on p.series_id = s.id
      )
      select "seriesId", ${keyColumns}, closed_up_to as "closedUpToMs",
             newest as "newestMs", tracked_from as "trackedFromMs", begun as "knownMs", may_probe as "mayProbe",
             coalesce(asked_from < coalesce(begun, 'infinity'), false) as "isAsked", reaches_now as "reachesNow",
             refresh_due as "refreshDue",
             gap, case when silent && gap then silent * tstzmultirange(gap) end as silent
      from wanted s
      left join lateral (
        select gap from unnest(gaps) with ordinality as u (gap, place)
        where place <= $rangesPerSeries or upper(gap) = upper(gaps)
      ) g on true
      where gap is not null or refresh_due
      order by "seriesId", gap`,
    parameters: {
      ...{ ...nowAndGrace, openRefreshMs: nullable(float8), seriesIds: nullable(listOf(int4)) },
      ...{ rangesPerSeries: int8, count: nullable(int8), cursor: int4, source: nullable(text) },
    },
    row: {
      ...{ ...identity, closedUpToMs: time, newestMs: nullable(time), trackedFromMs: time, knownMs: nullable(time) },
      ...{ mayProbe: bool, isAsked: bool, reachesNow: bool, refreshDue: bool },
      ...{ gap: nullable(range), silent: nullable(ranges) },
    },
  });
});

export type Gap = RowOf<typeof gapPieces.row>;

/**
 * Lists every gap as a range, split where the reason changes, in order of series and time.
 *
 * @param query.ledger whether to tell by recent failed requests which windows are retried: too slow for a loop.
 */
export async function listGaps(
  database: Database,
  query: Pick<GapsQuery, 'nowMs' | 'graceMs' | 'seriesIds'> & { ledger?: boolean },
): Promise<Gap[]> {
  const { nowMs, graceMs, seriesIds = null, ledger = false } = query;
  return gapPieces.on(database.pool, { nowMs, graceMs, seriesIds, ledger });
}

const gapPieces = statement({
  name: 'gap-pieces',
  isPlannedAnew: true,
  text: `
    select ${identityColumns}, gap_start as "startMs", gap_end as "endMs", reason, cause, message, source,
           retry_at as "retryAtMs", since as "sinceMs"
    from tidemark.gap_pieces(${atAndGrace}, $seriesIds, $ledger) s order by id, gap_start`,
  parameters: { ...nowAndGrace, seriesIds: nullable(listOf(int4)), ledger: bool },
  row: {
    ...{ ...identity, startMs: time, endMs: time, reason: oneOf<ShownReason>(), cause: oneOf<Reason>() },
    /** The source's message, or the error. */
    message: nullable(text),
    /** The source that said so; null: none was asked, or all are refused. */
    source: nullable(text),
    /** Time of the next request; null: as soon as the budget allows. */
    retryAtMs: nullable(time),
    /** When it, or a window that overlaps it, was first deferred; null: it is not deferred. */
    sinceMs: nullable(time),
  },
});
