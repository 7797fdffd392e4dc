/** The figures of `status`: completeness and age of each series, rates, and server versions. */

import type { EpochMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { type Database, timestamp } from '../db/database.ts';
import { belongsToSeries, isUnresolved } from '../ledger/quarantine.ts';
import { atAndGrace } from '../series/gaps.ts';
import { type SeriesRow, seriesColumns, toSeriesKey } from '../series/series.ts';
import { lengthsMs } from './completeness.ts';

export interface SeriesStatus {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Null end: open-ended. */
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
  /** Length of the tracked range up to the last closed period. */
  readonly wantedMs: number;
  /** Length of its covered part, and of its confirmed empty part. */
  readonly coveredMs: number;
  readonly confirmedEmptyMs: number;
  /** Confirmed empty part before the first day with a point, which was requested by days. */
  readonly beforeBeginningMs: number;
  /** Rejected rows whose periods still have no point. */
  readonly quarantined: number;
  readonly missingMs: number;
  readonly gaps: number;
  /** Missing parts that await a second answer, and that failed. */
  readonly awaitingMs: number;
  readonly failedMs: number;
  /** Part of the failed ones that the source no longer keeps. */
  readonly beyondDepthMs: number;
  readonly points: number;
  readonly earliestMs: EpochMs | null;
  readonly newestMs: EpochMs | null;
  /** Changed values of closed periods that were observed. */
  readonly revised: number;
  /** Time of the last re-read of the trailing range. */
  readonly rereadAtMs: EpochMs | null;
  /** The source's message, when it refuses the whole series. */
  readonly blocked: string | null;
}

/** Reads every tracked series, in order of dataset and name. */
export async function seriesStatus(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; seriesIds?: readonly number[] | undefined },
): Promise<SeriesStatus[]> {
  const isChosen = (id: string) => `($3::int[] is null or ${id} = any ($3))`;
  type Values = Omit<SeriesStatus, 'seriesId' | 'series' | 'tracked'>;
  const result = await database.pool.query<SeriesRow & Values & { tracked_from: EpochMs; tracked_to: EpochMs | null }>(
    `with rejected as (
       select s.id as series_id, count(*) as rows
       from tidemark.quarantine q join tidemark.series s on ${belongsToSeries}
       where ${isChosen('s.id')} and ${isUnresolved} group by s.id
     )
     select ${seriesColumns}, lower(s.tracked) as tracked_from, upper(s.tracked) as tracked_to,
            ${lengthsMs.wanted} as "wantedMs", ${lengthsMs.wanted} - m.missing as "coveredMs",
            ${lengthsMs.confirmedEmpty} as "confirmedEmptyMs", ${lengthsMs.beforeBeginning} as "beforeBeginningMs",
            coalesce(r.rows, 0) as quarantined, m.missing as "missingMs", m.gaps,
            ${lengthsMs.awaiting} as "awaitingMs", ${lengthsMs.failed} as "failedMs",
            ${lengthsMs.beyondDepth} as "beyondDepthMs",
            s.points, s.earliest as "earliestMs", s.newest as "newestMs", s.revised, s.reread_at as "rereadAtMs",
            case when s.blocked_until > $1 then coalesce(s.blocked_message, 'refused') end as blocked
     from tidemark.measured_series(${atAndGrace}, $3) s
     cross join lateral (
       select coalesce(sum(date_part('epoch', upper(r) - lower(r)) * 1000), 0)::bigint as missing, count(*) as gaps
       from unnest(s.missing) r
     ) m
     left join rejected r on r.series_id = s.id
     order by s.dataset desc, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.period`,
    [timestamp(query.nowMs), query.graceMs, query.seriesIds],
  );
  // Field by field: of 100,000 rows, a rest of their columns takes half a second.
  return result.rows.map((row) => ({
    seriesId: row.id,
    series: toSeriesKey(row),
    tracked: { startMs: row.tracked_from, endMs: row.tracked_to },
    wantedMs: row.wantedMs,
    coveredMs: row.coveredMs,
    confirmedEmptyMs: row.confirmedEmptyMs,
    beforeBeginningMs: row.beforeBeginningMs,
    quarantined: row.quarantined,
    missingMs: row.missingMs,
    gaps: row.gaps,
    awaitingMs: row.awaitingMs,
    failedMs: row.failedMs,
    beyondDepthMs: row.beyondDepthMs,
    points: row.points,
    earliestMs: row.earliestMs,
    newestMs: row.newestMs,
    revised: row.revised,
    rereadAtMs: row.rereadAtMs,
    blocked: row.blocked,
  }));
}

/** Counts the tracked series, and the periods of them that close in a minute. */
export async function countTracked(database: Database, nowMs: EpochMs): Promise<{ series: number; arriving: number }> {
  const result = await database.pool.query<{ series: number; arriving: number }>({
    name: 'count-tracked',
    text: `select count(*) as series,
                  coalesce(sum(60 / extract(epoch from period))
                           filter (where upper_inf(tracked) or upper(tracked) > $1), 0)::float8 as arriving
           from tidemark.series where untracked_at is null`,
    values: [timestamp(nowMs)],
  });
  return result.rows[0] ?? { series: 0, arriving: 0 };
}

export interface RatesStatus {
  readonly currencies: number;
  readonly newestMs: EpochMs | null;
}

export async function ratesStatus(database: Database): Promise<RatesStatus> {
  const result = await database.pool.query<RatesStatus>(
    `select (select count(*) from tidemark.currencies) as currencies,
            (select max(time) from tidemark.rate_points) as "newestMs"`,
  );
  return result.rows[0] ?? { currencies: 0, newestMs: null };
}

/** Error of the newest poll of rates; null: it succeeded. @param sinceMs limit for reading the ledger. */
export async function ratesProblem(database: Database, sinceMs: EpochMs): Promise<string | null> {
  const result = await database.pool.query<{ error: string | null }>({
    name: 'rates-problem',
    text: `select error from tidemark.fetches where dataset = 'rates' and time > $1 order by time desc limit 1`,
    values: [timestamp(sinceMs)],
  });
  return result.rows[0]?.error ?? null;
}

/** Version of the server, and of TimescaleDB when the database has it. */
export async function serverVersions(database: Database): Promise<{ postgres: string; timescale: string | null }> {
  const result = await database.pool.query<{ postgres: string; timescale: string | null }>(
    `select current_setting('server_version') as postgres,
            (select extversion from pg_extension where extname = 'timescaledb') as timescale`,
  );
  return result.rows[0] ?? { postgres: 'unknown', timescale: null };
}
