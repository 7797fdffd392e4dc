/** What is known of the series that are to be exported. */

import type pg from 'pg';
import { type EpochMs, gridOriginMs } from '../../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../../contract/series.ts';
import { TidemarkError } from '../../errors.ts';
import { clip, type Range, subtract } from '../../planning/ranges.ts';
import { timestamp } from '../database.ts';
import { isSeries, keyValues } from '../series.ts';

export interface ExportQuery {
  readonly series: readonly SeriesKey[];
  /** Null: from the beginning of what is tracked of each. */
  readonly fromMs: EpochMs | null;
  /** Null: to the end of what is tracked of each. */
  readonly toMs: EpochMs | null;
  readonly nowMs: EpochMs;
  readonly graceMs: number;
}

export interface ExportGap extends Range {
  readonly reason: string;
}

/** All ranges lie within `range`. */
export interface ExportedSeries {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** What was asked for, widened to whole periods, up to the last closed one. */
  readonly range: Range;
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
  readonly covered: readonly Range[];
  readonly confirmedEmpty: readonly Range[];
  readonly beforeBeginning: readonly Range[];
  /** What of the range is not covered, and why. */
  readonly gaps: readonly ExportGap[];
}

interface Row {
  id: number;
  range_start: EpochMs;
  range_end: EpochMs;
  tracked_from: EpochMs;
  tracked_to: EpochMs | null;
  covered: Bounds[];
  confirmed_empty: Bounds[];
  before_beginning: Bounds[];
  pending: Array<{ start: number; end: number; reason: string }>;
}
type Bounds = readonly [startMs: number, endMs: number];

/**
 * @throws TidemarkError UNKNOWN_SERIES when one of them was never tracked; BAD_ARGUMENT when no period of the range has
 * closed.
 */
export async function seriesToExport(client: pg.PoolClient, query: ExportQuery): Promise<ExportedSeries[]> {
  const found: ExportedSeries[] = [];
  for (const series of query.series) found.push(await oneToExport(client, series, query));
  return found;
}

async function oneToExport(
  client: pg.PoolClient,
  series: SeriesKey,
  query: ExportQuery,
): Promise<ExportedSeries> {
  const bounds = (column: string) =>
    `(select coalesce(jsonb_agg(jsonb_build_array(${ms('lower(r)')}, ${ms('upper(r)')}) order by r), '[]')
      from unnest(${column} * tstzmultirange(tstzrange(range_start, range_end))) r)`;
  const result = await client.query<Row>(
    `with found as (
       select s.*, coalesce(date_bin(s.period, $7::timestamptz, $11), lower(s.tracked)) as range_start,
              least(coalesce(date_bin(s.period, $8::timestamptz + s.period - interval '1 microsecond', $11),
                             upper(s.tracked)),
                    date_bin(s.period, $9::timestamptz - make_interval(secs => $10::double precision / 1000), $11)) as closed_end
       from tidemark.series s
       where ${isSeries}
     ), bounded as (
       select f.*, greatest(range_start, closed_end) as range_end from found f
     )
     select id, range_start, range_end, lower(tracked) as tracked_from, upper(tracked) as tracked_to,
            ${bounds('covered')} as covered, ${bounds('confirmed_empty')} as confirmed_empty,
            ${bounds('before_beginning')} as before_beginning,
            (select coalesce(jsonb_agg(jsonb_build_object(
                      'start', ${ms('lower(p.range)')}, 'end', ${ms('upper(p.range)')},
                      'reason', case when p.verdict = 'empty' then 'answered empty, awaits a second answer'
                                     else p.verdict || coalesce(': ' || p.message, '') end) order by p.range), '[]')
             from tidemark.pending_windows p
             where p.series_id = b.id and not p.of_covered
               and p.range && tstzrange(b.range_start, b.range_end)) as pending
     from bounded b`,
    [
      ...keyValues(series),
      query.fromMs === null ? null : timestamp(query.fromMs),
      query.toMs === null ? null : timestamp(query.toMs),
      timestamp(query.nowMs),
      query.graceMs,
      timestamp(gridOriginMs),
    ],
  );
  const row = result.rows[0];
  if (row === undefined) {
    throw new TidemarkError('UNKNOWN_SERIES', `${seriesName(series)} was never tracked here`);
  }
  const range = { startMs: row.range_start, endMs: row.range_end };
  if (range.startMs >= range.endMs) {
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `no period of ${seriesName(series)} in that range has closed yet`,
    );
  }
  const covered = row.covered.map(rangeOf);
  return {
    seriesId: row.id,
    series,
    range,
    tracked: { startMs: row.tracked_from, endMs: row.tracked_to },
    covered,
    confirmedEmpty: row.confirmed_empty.map(rangeOf),
    beforeBeginning: row.before_beginning.map(rangeOf),
    gaps: explained(subtract([range], covered), row),
  };
}

/** The gaps, cut where the reason changes. */
function explained(gaps: readonly Range[], { pending, ...row }: Row): ExportGap[] {
  const found: ExportGap[] = [];
  let left = gaps;
  for (const { start, end, reason } of pending) {
    const waiting = { startMs: start, endMs: end };
    found.push(...clip(left, waiting).map((range) => ({ ...range, reason })));
    left = subtract(left, [waiting]);
  }
  const tracked = { startMs: row.tracked_from, endMs: row.tracked_to ?? Number.POSITIVE_INFINITY };
  found.push(...clip(left, tracked).map((range) => ({ ...range, reason: 'not asked for yet' })));
  found.push(...subtract(left, [tracked]).map((range) => ({ ...range, reason: 'not tracked' })));
  return found.sort((a, b) => a.startMs - b.startMs);
}

function rangeOf([startMs, endMs]: Bounds): Range {
  return { startMs, endMs };
}

/** A time as integer milliseconds, as SQL. */
function ms(time: string): string {
  return `(extract(epoch from ${time}) * 1000)::bigint`;
}
