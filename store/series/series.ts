/** The tracked series, and the range of each. */

import type pg from 'pg';
import { badArgument, TidemarkError } from '../../errors.ts';
import { formatTime } from '../../model/format.ts';
import { type EpochMs, type Interval, intervalMs, periodStart } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { isOfMarket, nameEnds, type SeriesKey, seriesName, untilExpiry } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { notNamedMark } from '../../model/time-text.ts';
import type { Database } from '../db/database.ts';
import {
  float8,
  group,
  int4,
  int4s,
  nullable,
  type OpenRange,
  oneOf,
  openRange,
  statement,
  text,
  time,
  type ValuesOf,
} from '../db/statement.ts';

export interface TrackedSeries {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Whether the series is new. */
  readonly created: boolean;
  readonly tracked: OpenRange;
  /** What was tracked of it before; null: nothing. */
  readonly before: OpenRange | null;
  readonly change: 'created' | 'resumed' | 'widened' | 'unchanged';
}

/** Whether a row belongs to a series, as SQL with {@link keyParameters}. */
export const isSeries = `dataset = $dataset and exchange_id is not distinct from $exchange
  and base_id is not distinct from $base and quote_id is not distinct from $quote
  and asset_id is not distinct from $asset and interval = $interval`;

/** The key of a series, as parameters; null where the dataset has no such field. */
export const keyParameters = {
  ...{ dataset: text, exchange: nullable(text), base: nullable(text), quote: nullable(text) },
  ...{ asset: nullable(text), interval: text },
};

export function keyValues(series: SeriesKey): ValuesOf<typeof keyParameters> {
  const { dataset, interval } = series;
  return isOfMarket(series)
    ? { dataset, exchange: series.exchange, base: series.baseId, quote: series.quoteId, asset: null, interval }
    : { dataset, exchange: null, base: null, quote: null, asset: series.assetId, interval };
}

/** The columns of {@link seriesKey}, of a row `s`. */
export const keyColumns = 's.dataset, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.interval';
/** Columns that identify a series. */
export const seriesColumns = `s.id, ${keyColumns}`;
/** The columns of {@link identity}, of a row `s`. */
export const identityColumns = `s.id as "seriesId", ${keyColumns}`;

const nameEnd = Object.entries(nameEnds).map(([dataset, end]) => `when '${dataset}' then '${end}'`);
/** What the name of a series `s` ends with, as SQL. */
export const nameEndSql = `case s.dataset ${nameEnd.join(' ')} end`;
/**
 * The name of a series `s` as `seriesName` of model/series.ts has it, as SQL, with the ids of the base and the quote.
 */
export const seriesNameAs = (base: string, quote: string) =>
  `coalesce(s.asset_id, s.exchange_id || ' ' || ${base} || '/' || ${quote}) || ' ' || s.interval || ${nameEndSql}`;
export const seriesNameSql = seriesNameAs('s.base_id', 's.quote_id');

const maybe = nullable(text);
/** The series of a row. The table's checks guarantee the fields of each dataset. */
export const seriesKey = group(
  { dataset: text, exchange_id: maybe, base_id: maybe, quote_id: maybe, asset_id: maybe, interval: text },
  ({ dataset, interval, exchange_id: exchange, base_id: baseId, quote_id: quoteId, asset_id: assetId }) => {
    const names = assetId === null ? { exchange, baseId, quoteId } : { assetId };
    return Object.freeze({ dataset, ...names, interval }) as SeriesKey;
  },
);
export const identity = { seriesId: int4, series: seriesKey };

/** Inserts the default source of the series `made`, unless they have another one, as the end of a statement. */
export const insertDefaultSources = `
  insert into tidemark.series_sources (series_id, rank, source, symbol)
  select id, 1, '${defaultSource}', '' from made on conflict do nothing`;

/**
 * Tracks a series from `fromMs` to `toMs` (null: open-ended). The tracked range of a series that is tracked
 * already grows to hold the new one, including the time between two separate ranges. Bounds widen to whole
 * periods, so the first period is the one that holds `fromMs`. A future is tracked until it is delivered.
 *
 * @throws TidemarkError BAD_ARGUMENT when that was before `fromMs`.
 */
export function trackSeries(
  database: Database,
  series: SeriesKey,
  fromMs: EpochMs,
  toMs: EpochMs | null,
): Promise<TrackedSeries> {
  return writeTrackedSeries(database.pool, series, fromMs, toMs);
}

/** The same, in the transaction of the client. */
export async function writeTrackedSeries(
  client: pg.Pool | pg.PoolClient,
  series: SeriesKey,
  fromMs: EpochMs,
  toMs: EpochMs | null,
): Promise<TrackedSeries> {
  const lastMs = untilExpiry(series, toMs);
  const tracked = {
    startMs: periodStart(fromMs, series.interval),
    endMs: lastMs === null ? null : periodEnd(lastMs, series.interval),
  };
  if (tracked.endMs !== null && tracked.endMs <= tracked.startMs)
    throw badArgument(`${seriesName(series)} ended at ${formatTime(tracked.endMs)}, before the range begins`);
  const seconds = intervalMs[series.interval] / 1000;
  const { id: seriesId, ...stored } = await track.one(client, { ...keyValues(series), seconds, tracked });
  return { seriesId, series, created: stored.change === 'created', ...stored };
}

const track = statement({
  name: 'track-series',
  text: `with made as (
     insert into tidemark.series as s
       (dataset, exchange_id, base_id, quote_id, asset_id, interval, period, tracked)
     values ($dataset, $exchange, $base, $quote, $asset, $interval, make_interval(secs => $seconds), $tracked)
     on conflict (dataset, exchange_id, base_id, quote_id, asset_id, interval) do update
       set tracked = case when s.untracked_at is null
                          then range_merge(s.tracked, excluded.tracked) else excluded.tracked end,
           untracked_at = null, blocked_until = null, blocked_kind = null, blocked_message = null
     -- A subquery still sees the row from before this statement.
     returning id, tracked,
               coalesce((select case when b.untracked_at is not null then 'resumed'
                                     when b.tracked is distinct from s.tracked then 'widened'
                                     else 'unchanged' end
                         from tidemark.series b where b.id = s.id), 'created') as change,
               (select b.tracked from tidemark.series b where b.id = s.id and b.untracked_at is null) as before
     ), sourced as (${insertDefaultSources})
     select * from made`,
  parameters: { ...keyParameters, seconds: float8, tracked: openRange },
  row: { ...{ id: int4, tracked: openRange, change: oneOf<TrackedSeries['change']>() }, before: nullable(openRange) },
});

/** The id of a series that is or was tracked. */
const idOfSeries = statement({
  name: 'id-of-series',
  isPlannedAnew: true,
  text: `select id from tidemark.series where ${isSeries}`,
  parameters: keyParameters,
  row: { id: int4 },
});

/**
 * The id of a series that an import is about to fill. A series that was never tracked is created as
 * untracked, with `range` as its past range: nothing of it is requested until {@link trackSeries}.
 */
export async function ensureSeries(
  database: Database,
  series: SeriesKey,
  { nowMs, ...range }: Range & { readonly nowMs: EpochMs },
): Promise<number> {
  const [known] = await idOfSeries.on(database.pool, keyValues(series));
  if (known !== undefined) return known.id;
  const { interval } = series;
  await insertUntracked.on(database.pool, {
    ...keyValues(series),
    seconds: intervalMs[interval] / 1000,
    tracked: { startMs: periodStart(range.startMs, interval), endMs: periodEnd(range.endMs, interval) },
    now: nowMs,
  });
  return (await idOfSeries.one(database.pool, keyValues(series))).id;
}

const insertUntracked = statement({
  name: 'insert-untracked-series',
  text: `with made as (
     insert into tidemark.series
       (dataset, exchange_id, base_id, quote_id, asset_id, interval, period, tracked, untracked_at)
     values ($dataset, $exchange, $base, $quote, $asset, $interval, make_interval(secs => $seconds), $tracked, $now)
     on conflict do nothing returning id
   ) ${insertDefaultSources}`,
  parameters: { ...keyParameters, seconds: float8, tracked: openRange, now: time },
});

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
  const [row] = await untrack.on(database.pool, { seriesId, now: nowMs });
  if (row === undefined) throw new TidemarkError('UNKNOWN_SERIES', `no series has the id ${seriesId}`);
  return row;
}

const untrack = statement({
  name: 'untrack-series',
  text: `
    with before as (
      select id as known, untracked_at as "untrackedMs" from tidemark.series where id = $seriesId for update
    )
    update tidemark.series s set untracked_at = coalesce(untracked_at, $now) from before where s.id = known
    returning ${keyColumns}, "untrackedMs"`,
  parameters: { seriesId: int4, now: time },
  row: { series: seriesKey, untrackedMs: nullable(time) },
});

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
  await blockUntil.on(database.pool, block);
}

const blockUntil = statement({
  name: 'block-series',
  text: `
    with one_of_several as (
      update tidemark.series_sources set blocked_until = $untilMs
      where series_id = $seriesId and source = $source
        and exists (select from tidemark.series_sources where series_id = $seriesId and source <> $source)
      returning 1
    )
    update tidemark.series set blocked_until = $untilMs, blocked_kind = $kind, blocked_message = $message
    where id = $seriesId and not exists (select from one_of_several)`,
  parameters: { seriesId: int4, source: text, kind: text, message: text, untilMs: time },
});

/** Whether the source of a series `s` does not know it, and it has no point, as SQL. */
export const isUnknown = `(s.points = 0 and coalesce(s.blocked_kind = 'not_found', false))`;

/** Whether the watch list that was applied last names a series `s`, as SQL. */
export const isNamed = `coalesce(not s.watch_ages ? '${notNamedMark}', false)`;

/** Stops requesting those of the series that their source does not know, and that have no point. */
export async function untrackUnknown(database: Database, seriesIds: readonly number[], nowMs: EpochMs): Promise<void> {
  await untrackAllUnknown.on(database.pool, { seriesIds, now: nowMs });
}

const untrackAllUnknown = statement({
  name: 'untrack-unknown-series',
  text: `update tidemark.series s set untracked_at = $now
         where id = any ($seriesIds) and untracked_at is null and ${isUnknown}`,
  parameters: { seriesIds: int4s, now: time },
});

/** Tracked series whose open candle was not refreshed since. */
export async function findUnrefreshed(database: Database, sinceMs: EpochMs): Promise<number[]> {
  const found = await unrefreshed.on(database.pool, { since: sinceMs });
  return found.map(({ id }) => id);
}

/** Whether the source has a point of the open period of a series `s`, as SQL. */
export const hasOpen = `(s.dataset, s.interval) in (
  select dataset, interval from tidemark.dataset_intervals where has_open)`;

const unrefreshed = statement({
  name: 'unrefreshed-series',
  isPlannedAnew: true,
  text: `select id from tidemark.series s
         where untracked_at is null and upper_inf(tracked) and (refreshed_at is null or refreshed_at < $since)
           and ${hasOpen}
         order by id`,
  parameters: { since: time },
  row: { id: int4 },
});

/** End of the period that holds the last moment before `timeMs`. */
function periodEnd(timeMs: EpochMs, interval: Interval): EpochMs {
  const start = periodStart(timeMs, interval);
  return start === timeMs ? start : start + intervalMs[interval];
}
