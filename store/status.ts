/** What `status` shows: each series' completeness and age, and how the budget is used. */

import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { Database } from './database.ts';
import { timestamp } from './database.ts';
import { closedSeries, lengthMsOf, missingRanges, wantedRanges } from './gaps.ts';
import { quarantined } from './quarantine.ts';
import { type SeriesRow, seriesColumns, seriesOf } from './series.ts';

export interface SeriesStatus {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Null end: open-ended. */
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
  /** Tracked range up to the last closed period, milliseconds. */
  readonly wantedMs: number;
  /** How much of it is covered, and of that how much is confirmed to be empty. */
  readonly coveredMs: number;
  readonly confirmedEmptyMs: number;
  /** Of the confirmed empty: what was asked for by days, before the day on which the series begins. */
  readonly beforeBeginningMs: number;
  /** Rows of answers that could not be used, and of whose periods no point came since. */
  readonly quarantined: number;
  readonly missingMs: number;
  readonly gaps: number;
  /** Of the missing: what awaits a second answer, and what failed. */
  readonly awaitingMs: number;
  readonly failedMs: number;
  readonly points: number;
  readonly earliestMs: EpochMs | null;
  readonly newestMs: EpochMs | null;
  /** Values of closed periods that the source changed, as far as seen. */
  readonly revised: number;
  /** When its trailing range was last read again. */
  readonly rereadAtMs: EpochMs | null;
  /** What the source said, when it refuses the series as a whole. */
  readonly blocked: string | null;
}

/** Every tracked series, in order of dataset and name. */
export async function seriesStatus(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; seriesIds?: readonly number[] | undefined },
): Promise<SeriesStatus[]> {
  const result = await database.pool.query<
    SeriesRow & {
      tracked_from: EpochMs;
      tracked_to: EpochMs | null;
      wanted: number;
      covered: number;
      confirmed_empty: number;
      before_beginning: number;
      quarantined: number;
      missing: number;
      gaps: number;
      awaiting: number;
      failed: number;
      points: number;
      earliest: EpochMs | null;
      newest: EpochMs | null;
      revised: number;
      reread_at: EpochMs | null;
      blocked: string | null;
    }
  >(
    `with closed as (${closedSeries} where s.untracked_at is null and ($3::int[] is null or s.id = any ($3))),
     measured as (
       select s.*, ${missingRanges} as gap_ranges, ${wantedRanges} as wanted_ranges
       from closed s
     )
     select ${seriesColumns}, lower(s.tracked) as tracked_from, upper(s.tracked) as tracked_to,
            ${lengthMsOf('s.wanted_ranges')} as wanted,
            ${lengthMsOf('s.wanted_ranges * s.covered')} as covered,
            ${lengthMsOf('s.wanted_ranges * s.confirmed_empty')} as confirmed_empty,
            ${lengthMsOf('s.wanted_ranges * s.before_beginning')} as before_beginning,
            ${quarantined} as quarantined,
            ${lengthMsOf('s.gap_ranges')} as missing,
            (select count(*) from unnest(s.gap_ranges)) as gaps,
            ${lengthMsOf(`s.gap_ranges * ${pending('empty')}`)} as awaiting,
            ${lengthMsOf(`s.gap_ranges * ${pending('failed')}`)} as failed,
            s.points, s.earliest, s.newest, s.revised, s.reread_at,
            case when s.blocked_until > $1 then coalesce(s.blocked_message, 'refused') end as blocked
     from measured s
     order by s.dataset desc, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.period`,
    [timestamp(query.nowMs), query.graceMs, query.seriesIds],
  );
  return result.rows.map((row) => ({
    seriesId: row.id,
    series: seriesOf(row),
    tracked: { startMs: row.tracked_from, endMs: row.tracked_to },
    wantedMs: row.wanted,
    coveredMs: row.covered,
    confirmedEmptyMs: row.confirmed_empty,
    beforeBeginningMs: row.before_beginning,
    quarantined: row.quarantined,
    missingMs: row.missing,
    gaps: row.gaps,
    awaitingMs: row.awaiting,
    failedMs: row.failed,
    points: row.points,
    earliestMs: row.earliest,
    newestMs: row.newest,
    revised: row.revised,
    rereadAtMs: row.reread_at,
    blocked: row.blocked,
  }));
}

export interface RatesStatus {
  readonly currencies: number;
  readonly newestMs: EpochMs | null;
}

export async function ratesStatus(database: Database): Promise<RatesStatus> {
  const result = await database.pool.query<{ currencies: number; newest: EpochMs | null }>(
    `select (select count(*) from tidemark.currencies) as currencies,
            (select max(time) from tidemark.rate_points) as newest`,
  );
  const row = result.rows[0];
  return { currencies: row?.currencies ?? 0, newestMs: row?.newest ?? null };
}

/** What the newest poll of rates failed with; null: it did not. @param sinceMs the ledger is read no further back. */
export async function ratesProblem(database: Database, sinceMs: EpochMs): Promise<string | null> {
  const result = await database.pool.query<{ error: string | null }>({
    name: 'rates-problem',
    text: `select error from tidemark.fetches where dataset = 'rates' and time > $1 order by time desc limit 1`,
    values: [timestamp(sinceMs)],
  });
  return result.rows[0]?.error ?? null;
}

/** The server's version, and TimescaleDB's when the database has it. */
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
