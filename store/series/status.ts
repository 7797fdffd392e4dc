/** The figures of `status`: completeness and age of each series, rates, and server versions. */

import type { EpochMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { type Database, timestamp } from '../db/database.ts';
import { unresolvedCount } from '../ledger/quarantine.ts';
import { closedSeries, missingRanges, multirangeLengthMs, wantedRanges } from './gaps.ts';
import { type SeriesRow, seriesColumns, splitSeriesRow } from './series.ts';

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
  type Values = Omit<SeriesStatus, 'seriesId' | 'series' | 'tracked'>;
  const result = await database.pool.query<
    SeriesRow & Values & { tracked_from: EpochMs; tracked_to: EpochMs | null }
  >(
    `with closed as (${closedSeries} where s.untracked_at is null and ($3::int[] is null or s.id = any ($3))),
     measured as (
       select s.*, ${missingRanges} as gap_ranges, ${wantedRanges} as wanted_ranges
       from closed s
     )
     select ${seriesColumns}, lower(s.tracked) as tracked_from, upper(s.tracked) as tracked_to,
            ${multirangeLengthMs('s.wanted_ranges')} as "wantedMs",
            ${multirangeLengthMs('s.wanted_ranges * s.covered')} as "coveredMs",
            ${multirangeLengthMs('s.wanted_ranges * s.confirmed_empty')} as "confirmedEmptyMs",
            ${multirangeLengthMs('s.wanted_ranges * s.before_beginning')} as "beforeBeginningMs",
            ${unresolvedCount} as quarantined,
            ${multirangeLengthMs('s.gap_ranges')} as "missingMs",
            (select count(*) from unnest(s.gap_ranges)) as gaps,
            ${multirangeLengthMs(`s.gap_ranges * ${pending('empty')}`)} as "awaitingMs",
            ${multirangeLengthMs(`s.gap_ranges * ${pending('failed')}`)} as "failedMs",
            s.points, s.earliest as "earliestMs", s.newest as "newestMs", s.revised, s.reread_at as "rereadAtMs",
            case when s.blocked_until > $1 then coalesce(s.blocked_message, 'refused') end as blocked
     from measured s
     order by s.dataset desc, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.period`,
    [timestamp(query.nowMs), query.graceMs, query.seriesIds],
  );
  return result.rows.map((row) => {
    const { tracked_from: startMs, tracked_to: endMs, ...status } = splitSeriesRow(row);
    return { ...status, tracked: { startMs, endMs } };
  });
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
export async function serverVersions(
  database: Database,
): Promise<{ postgres: string; timescale: string | null }> {
  const result = await database.pool.query<{ postgres: string; timescale: string | null }>(
    `select current_setting('server_version') as postgres,
            (select extversion from pg_extension where extname = 'timescaledb') as timescale`,
  );
  return result.rows[0] ?? { postgres: 'unknown', timescale: null };
}

function pending(verdict: 'empty' | 'failed'): string {
  return `coalesce((select range_agg(p.range) from tidemark.pending_windows p
                    where p.series_id = s.id and p.verdict = '${verdict}'), '{}')`;
}
