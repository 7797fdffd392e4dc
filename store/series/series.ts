/** The tracked series, and the range of each. */

import { TidemarkError } from '../../errors.ts';
import { type EpochMs, type Interval, intervalMs, periodStart } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { isOfMarket, type SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { type Database, timeRange, timestamp } from '../db/database.ts';

export interface TrackedSeries {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Whether the series is new. */
  readonly created: boolean;
  /** The tracked range now; null end: open-ended. */
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
  readonly change: 'created' | 'resumed' | 'widened' | 'unchanged';
}

/** Whether a row belongs to a series, as SQL: for the parameters `$1` to `$6` of {@link keyValues}. */
export const isSeries = `dataset = $1 and exchange_id is not distinct from $2 and base_id is not distinct from $3
  and quote_id is not distinct from $4 and asset_id is not distinct from $5 and interval = $6`;

/** Dataset, exchange, base, quote, asset and interval; null where the dataset has no such field. */
export function keyValues(series: SeriesKey): Array<string | null> {
  const names = isOfMarket(series)
    ? [series.exchange, series.baseId, series.quoteId, null]
    : [null, null, null, series.assetId];
  return [series.dataset, ...names, series.interval];
}

/** The {@link keyValues} of several series, an array for each column. */
export function keyColumns(series: readonly SeriesKey[]): Array<Array<string | null | undefined>> {
  const keys = series.map(keyValues);
  return [0, 1, 2, 3, 4, 5].map((place) => keys.map((key) => key[place]));
}

/** Columns that identify a series. */
export const seriesColumns = 's.id, s.dataset, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.interval';

export interface SeriesRow {
  readonly id: number;
  readonly dataset: string;
  readonly exchange_id: string | null;
  readonly base_id: string | null;
  readonly quote_id: string | null;
  readonly asset_id: string | null;
  readonly interval: string;
}

/** The name of a series `s` as `seriesName` of model/series.ts has it, as SQL. */
export const seriesNameSql = `case when s.asset_id is null
  then s.exchange_id || ' ' || s.base_id || '/' || s.quote_id || ' ' || s.interval
  else s.asset_id || ' ' || s.interval end`;

/** The series of a row. The table's checks guarantee the fields of each dataset. */
export function toSeriesKey(row: SeriesRow): SeriesKey {
  const { dataset, interval, exchange_id: exchange, base_id: baseId, quote_id: quoteId, asset_id: assetId } = row;
  const names = assetId === null ? { exchange, baseId, quoteId } : { assetId };
  return Object.freeze({ dataset, ...names, interval }) as SeriesKey;
}

/** Replaces the columns of a row that identify its series by its id and key. */
export function splitSeriesRow<Row extends SeriesRow>(
  row: Row,
): Omit<Row, keyof SeriesRow> & { readonly seriesId: number; readonly series: SeriesKey } {
  const { id, dataset, exchange_id, base_id, quote_id, asset_id, interval, ...values } = row;
  return { seriesId: id, series: toSeriesKey(row), ...values };
}

/** Inserts the default source of the series `made`, unless they have another one, as the end of a statement. */
export const insertDefaultSources = `
  insert into tidemark.series_sources (series_id, rank, source, symbol)
  select id, 1, '${defaultSource}', '' from made on conflict do nothing`;

/**
 * Tracks a series from `fromMs` to `toMs` (null: open-ended). The tracked range of a series that is tracked
 * already grows to hold the new one, including the time between two separate ranges. Bounds widen to whole
 * periods, so the first period is the one that holds `fromMs`.
 */
export async function trackSeries(
  database: Database,
  series: SeriesKey,
  fromMs: EpochMs,
  toMs: EpochMs | null,
): Promise<TrackedSeries> {
  const range = timeRange(
    periodStart(fromMs, series.interval),
    toMs === null ? null : periodEnd(toMs, series.interval),
  );
  const result = await database.pool.query<{
    id: number;
    tracked_from: EpochMs;
    tracked_to: EpochMs | null;
    change: TrackedSeries['change'];
  }>(
    `with made as (
     insert into tidemark.series as s
       (dataset, exchange_id, base_id, quote_id, asset_id, interval, period, tracked)
     values ($1, $2, $3, $4, $5, $6, make_interval(secs => $7), $8)
     on conflict (dataset, exchange_id, base_id, quote_id, asset_id, interval) do update
       set tracked = case when s.untracked_at is null
                          then range_merge(s.tracked, excluded.tracked) else excluded.tracked end,
           untracked_at = null, blocked_until = null, blocked_kind = null, blocked_message = null
     -- A subquery still sees the row from before this statement.
     returning id, lower(tracked) as tracked_from, upper(tracked) as tracked_to,
               coalesce((select case when b.untracked_at is not null then 'resumed'
                                     when b.tracked is distinct from s.tracked then 'widened'
                                     else 'unchanged' end
                         from tidemark.series b where b.id = s.id), 'created') as change
     ), sourced as (${insertDefaultSources})
     select * from made`,
    [...keyValues(series), intervalMs[series.interval] / 1000, range],
  );
  const row = result.rows[0];
  if (row === undefined) throw new Error('the series was not stored');
  return {
    seriesId: row.id,
    series,
    created: row.change === 'created',
    tracked: { startMs: row.tracked_from, endMs: row.tracked_to },
    change: row.change,
  };
}

/** The id of a series that is or was tracked; null when it never was. */
async function findSeries(database: Database, series: SeriesKey): Promise<number | null> {
  const result = await database.pool.query<{ id: number }>(
    `select id from tidemark.series where ${isSeries}`,
    keyValues(series),
  );
  return result.rows[0]?.id ?? null;
}

/**
 * The id of a series that an import is about to fill. A series that was never tracked is created as
 * untracked, with `range` as its past range: nothing of it is requested until {@link trackSeries}.
 */
export async function ensureSeries(
  database: Database,
  series: SeriesKey,
  { nowMs, ...range }: Range & { readonly nowMs: EpochMs },
): Promise<number> {
  const known = await findSeries(database, series);
  if (known !== null) return known;
  await database.pool.query(
    `with made as (
       insert into tidemark.series
         (dataset, exchange_id, base_id, quote_id, asset_id, interval, period, tracked, untracked_at)
       values ($1, $2, $3, $4, $5, $6, make_interval(secs => $7), $8, $9)
       on conflict do nothing returning id
     ) ${insertDefaultSources}`,
    [
      ...keyValues(series),
      intervalMs[series.interval] / 1000,
      timeRange(periodStart(range.startMs, series.interval), periodEnd(range.endMs, series.interval)),
      timestamp(nowMs),
    ],
  );
  const made = await findSeries(database, series);
  if (made === null) throw new Error('the series was not stored');
  return made;
}

/**
 * Stops requesting a series. Its stored data stays, and stays queryable.
 *
 * @returns when it was untracked before; null: it was tracked.
 * @throws TidemarkError UNKNOWN_SERIES
 */
export async function untrackSeries(
  database: Database,
  seriesId: number,
  nowMs: EpochMs,
): Promise<{ readonly series: SeriesKey; readonly untrackedMs: EpochMs | null }> {
  const result = await database.pool.query<SeriesRow & { untrackedMs: EpochMs | null }>(
    `with before as (select id as known, untracked_at as "untrackedMs" from tidemark.series where id = $1 for update)
     update tidemark.series s set untracked_at = coalesce(untracked_at, $2) from before where s.id = known
     returning ${seriesColumns}, "untrackedMs"`,
    [seriesId, timestamp(nowMs)],
  );
  const row = result.rows[0];
  if (row === undefined) throw new TidemarkError('UNKNOWN_SERIES', `no series has the id ${seriesId}`);
  return { series: toSeriesKey(row), untrackedMs: row.untrackedMs };
}

/** Blocks a series until `untilMs`: the source refuses every request for it. */
export async function blockSeries(
  database: Database,
  block: {
    readonly seriesId: number;
    /** Where the series has other sources, only this one is blocked. */
    readonly source: string;
    readonly kind: string;
    readonly message: string;
    readonly untilMs: EpochMs;
  },
): Promise<void> {
  await database.pool.query(
    `with one_of_several as (
       update tidemark.series_sources set blocked_until = $2
       where series_id = $1 and source = $5 and exists (select from tidemark.series_sources where series_id = $1 and source <> $5)
       returning 1
     )
     update tidemark.series set blocked_until = $2, blocked_kind = $3, blocked_message = $4
     where id = $1 and not exists (select from one_of_several)`,
    [block.seriesId, timestamp(block.untilMs), block.kind, block.message, block.source],
  );
}

/** Tracked series whose open candle was not refreshed since. */
export async function findUnrefreshed(database: Database, sinceMs: EpochMs): Promise<number[]> {
  const result = await database.pool.query<{ id: number }>(
    `select id from tidemark.series s
     where untracked_at is null and upper_inf(tracked) and (refreshed_at is null or refreshed_at < $1)
       and not (dataset = 'asset_history' and interval = 'd1')
     order by id`,
    [timestamp(sinceMs)],
  );
  return result.rows.map((row) => row.id);
}

/** End of the period that holds the last moment before `timeMs`. */
function periodEnd(timeMs: EpochMs, interval: Interval): EpochMs {
  const start = periodStart(timeMs, interval);
  return start === timeMs ? start : start + intervalMs[interval];
}
