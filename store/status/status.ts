/** The figures of `status`: completeness and age of each series, rates, and server versions. */

import { type EpochMs, intervalMs } from '../../model/intervals.ts';
import { recencyOf } from '../../planning/periods.ts';
import type { Database } from '../db/database.ts';
import { float8, int4, int8, listOf, nullable, openRange, type RowOf, statement, text, time } from '../db/statement.ts';
import { belongsToSeries, isOfTracked, isUnresolved } from '../ledger/quarantine.ts';
import { atAndGrace, nowAndGrace } from '../series/gaps.ts';
import { identity, identityColumns } from '../series/series.ts';
import { lengthsMs } from './completeness.ts';

export type SeriesStatus = Awaited<ReturnType<typeof seriesStatus>>[number];

/** Reads every tracked series, in order of dataset and name. */
export async function seriesStatus(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; seriesIds?: readonly number[] | undefined },
) {
  const { nowMs, graceMs, seriesIds = null } = query;
  const rows = await statusOfSeries.on(database.pool, { nowMs, graceMs, seriesIds });
  return rows.map(({ closedUpToMs, unaskedMs, refreshedMs, ...row }) => {
    const { series, tracked, newestMs } = row;
    const times = { periodMs: intervalMs[series.interval], toMs: tracked.endMs, newestMs };
    return { ...row, ...recencyOf({ ...times, closedUpToMs, unaskedMs, refreshedMs }, query) };
  });
}

const statusOfSeries = statement({
  name: 'series-status',
  isPlannedAnew: true,
  text: `
     with rejected as (
       select s.id as series_id, count(*) as rows
       from tidemark.quarantine q join tidemark.series s on ${belongsToSeries}
       where ($seriesIds is null or s.id = any ($seriesIds)) and ${isUnresolved} and ${isOfTracked} group by s.id
     )
     select ${identityColumns}, s.tracked,
            ${lengthsMs.wanted} as "wantedMs", ${lengthsMs.wanted} - m.missing as "coveredMs",
            ${lengthsMs.confirmedEmpty} as "confirmedEmptyMs", ${lengthsMs.beforeBeginning} as "beforeBeginningMs",
            coalesce(r.rows, 0) as quarantined, m.missing as "missingMs", m.gaps,
            ${lengthsMs.awaiting} as "awaitingMs", ${lengthsMs.failed} as "failedMs",
            ${lengthsMs.beyondDepth} as "beyondDepthMs",
            s.closed_up_to as "closedUpToMs", ${lengthsMs.unasked} as "unaskedMs", s.refreshed_at as "refreshedMs",
            s.points, s.earliest as "earliestMs", s.newest as "newestMs", s.revised, s.reread_at as "rereadAtMs",
            lower(tstzmultirange(s.wanted) - s.before_beginning) as "askedFromMs", upper(s.wanted) as "askedToMs",
            case when s.blocked_until > $nowMs then coalesce(s.blocked_message, 'refused') end as blocked
     from tidemark.measured_series(${atAndGrace}, $seriesIds) s
     cross join lateral (
       select coalesce(sum(date_part('epoch', upper(r) - lower(r)) * 1000), 0)::bigint as missing, count(*) as gaps
       from unnest(s.missing) r
     ) m
     left join rejected r on r.series_id = s.id
     order by s.dataset desc, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.period`,
  parameters: { ...nowAndGrace, seriesIds: nullable(listOf(int4)) },
  row: {
    ...{ ...identity, tracked: openRange },
    /** Length of the tracked range up to the last closed period. */
    wantedMs: int8,
    /** Length of its covered part, and of its confirmed empty part. */
    ...{ coveredMs: int8, confirmedEmptyMs: int8 },
    /** Confirmed empty part before the first day with a point, which was requested by days. */
    beforeBeginningMs: int8,
    /** Rejected rows whose periods still have no point. */
    quarantined: int8,
    ...{ missingMs: int8, gaps: int8 },
    /** Missing parts that await a second answer, and that failed. */
    ...{ awaitingMs: int8, failedMs: int8 },
    /** Part of the failed ones that the source no longer keeps. */
    beyondDepthMs: int8,
    ...{ closedUpToMs: time, unaskedMs: int8, refreshedMs: nullable(time) },
    ...{ points: int8, earliestMs: nullable(time), newestMs: nullable(time) },
    /** Changed values of closed periods that were observed. */
    revised: int8,
    /** Time of the last re-read of the trailing range. */
    rereadAtMs: nullable(time),
    /** The wanted range without the time before the beginning; null: it is empty. */
    ...{ askedFromMs: nullable(time), askedToMs: nullable(time) },
    /** The source's message, when it refuses the whole series. */
    blocked: nullable(text),
  },
});

/** Counts the tracked series, and the periods of them that close in a minute. */
export const countTracked = statement({
  name: 'count-tracked',
  text: `select count(*) as series,
                coalesce(sum(60 / extract(epoch from period))
                         filter (where upper_inf(tracked) or upper(tracked) > $nowMs), 0)::float8 as arriving
         from tidemark.series where untracked_at is null`,
  parameters: { nowMs: time },
  row: { series: int8, arriving: float8 },
});

export type RatesStatus = RowOf<typeof ratesStatus.row>;

export const ratesStatus = statement({
  name: 'rates-status',
  isPlannedAnew: true,
  text: `select (select count(*) from tidemark.currencies) as currencies,
                (select max(time) from tidemark.rate_points) as "newestMs"`,
  row: { currencies: int8, newestMs: nullable(time) },
});

/** Version of the server, and of TimescaleDB when the database has it. */
export const serverVersions = statement({
  name: 'server-versions',
  text: `select current_setting('server_version') as postgres,
                (select extversion from pg_extension where extname = 'timescaledb') as timescale`,
  row: { postgres: text, timescale: nullable(text) },
});
