/**
 * Differences between answers and stored points, compared as exact text. A difference stays in
 * `tidemark.differences`, with both values, until a repair or a later verify finds the point equal. The
 * points themselves are not touched.
 */

import type pg from 'pg';
import { byDataset, columnNames, datasetNames } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { PointLines } from '../../model/point-lines.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { Database } from '../db/database.ts';
import { arrayOf, timeRange, timestamp, timestamps } from '../db/values.ts';
import { type SeriesRow, seriesColumns, splitSeriesRow } from '../series/series.ts';
import { pointParameters, pointSql } from './points.ts';

export interface Difference {
  readonly seriesId: number;
  readonly timeMs: EpochMs;
  readonly kind: 'missing_here' | 'missing_there' | 'changed';
  /** Values by column, as exact text; null where there is no such point. */
  readonly here: Readonly<Record<string, string>> | null;
  readonly there: Readonly<Record<string, string>> | null;
}

/** Limit on listed differences: a source with other data differs everywhere. All differences are stored. */
const maxListed = 100_000;

/** The differences within some ranges, in order of series and time, up to a limit. @param against another source; null: the series' own. */
export async function readDifferences(
  database: Database,
  ranges: ReadonlyArray<Range & { readonly seriesId: number }>,
  against: string | null = null,
): Promise<Difference[]> {
  const texts = (column: string) =>
    `(select jsonb_object_agg(key, value) from jsonb_each_text(d.${column})) as ${column}`;
  const result = await database.pool.query<Difference>(
    `select d.series_id as "seriesId", d.time as "timeMs", d.kind, ${texts('here')}, ${texts('there')}
     from ${against === null ? 'tidemark.differences' : '(select * from tidemark.cross_differences where source = $3)'} d
     join (select series_id, range_agg(range) as ranges
           from unnest($1::int[], $2::tstzrange[]) as u (series_id, range) group by series_id) u
       on u.series_id = d.series_id and u.ranges @> d.time
     order by d.series_id, d.time limit ${maxListed}`,
    [
      arrayOf(ranges.map(({ seriesId }) => String(seriesId))),
      ranges.map(({ startMs, endMs }) => timeRange(startMs, endMs)),
      ...(against === null ? [] : [against]),
    ],
  );
  return result.rows.map((row) => ({
    ...row,
    here: sortColumns(row.here),
    there: sortColumns(row.there),
  }));
}

/** The order of a candle's fields: PostgreSQL sorts an object's names in its own way. */
function sortColumns(values: Difference['here']): Difference['here'] {
  if (values === null) return null;
  const columns = datasetNames.flatMap((dataset) => columnNames[dataset]);
  return Object.fromEntries(columns.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));
}

export interface DifferingSeries {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Ascending. */
  readonly timesMs: readonly EpochMs[];
}

/** Periods with known differences, by series. @param seriesIds absent: every series. */
export async function readDifferingPeriods(
  database: Database,
  seriesIds: readonly number[] | undefined,
): Promise<DifferingSeries[]> {
  const result = await database.pool.query<SeriesRow & Pick<DifferingSeries, 'timesMs'>>(
    `select ${seriesColumns},
            array_agg((extract(epoch from d.time) * 1000)::double precision order by d.time) as "timesMs"
     from tidemark.differences d join tidemark.series s on s.id = d.series_id
     where $1::int[] is null or s.id = any ($1)
     group by s.id order by s.id`,
    [seriesIds],
  );
  return result.rows.map(splitSeriesRow);
}

export interface Comparison {
  /** Points on either side. */
  readonly points: number;
  /** Points of the source that are not stored. */
  readonly missingHere: number;
  /** Stored points that the source does not have. */
  readonly missingThere: number;
  readonly changed: number;
  /**
   * Points with equal numbers and other digits: `1.10` and `1.1`. They are no difference and need no repair.
   */
  readonly rewritten: number;
}

/** A comparison with an answer that may have rejected rows. */
export interface ReadComparison extends Comparison {
  /** Stored points that were not compared: of their periods the answer has rejected rows only. */
  readonly unread: number;
}

/** Counts the differing points, except those with other digits only. */
export function countDiffering(comparison: Pick<Comparison, 'missingHere' | 'missingThere' | 'changed'>): number {
  return comparison.missingHere + comparison.missingThere + comparison.changed;
}

/**
 * Compares an answer within `range` with the stored points, within the caller's transaction, and stores the
 * differences.
 */
export async function compareStored(
  client: pg.PoolClient,
  compared: {
    readonly seriesId: number;
    /** Another source than the series' own; null: its own. */
    readonly against: string | null;
    readonly range: Range;
    readonly points: PointLines;
    readonly nowMs: EpochMs;
    /** Starts of periods of which the answer has unreadable rows only: nothing is said of their points. */
    readonly unreadable: readonly EpochMs[];
    readonly periodMs: number;
  },
): Promise<ReadComparison> {
  const { seriesId, range, points, nowMs, against } = compared;
  const bounds = [seriesId, timestamp(range.startMs), timestamp(range.endMs)];
  // A statement of its own, and the first one: within one statement the new rows would conflict with the old
  // ones.
  await client.query(
    against === null
      ? {
          name: 'delete-differences',
          text: 'delete from tidemark.differences where series_id = $1 and time >= $2 and time < $3',
          values: bounds,
        }
      : {
          name: 'delete-source-differences',
          text: `delete from tidemark.cross_differences
                 where series_id = $1 and time >= $2 and time < $3 and source = $4`,
          values: [...bounds, against],
        },
  );
  const result = await client.query<ReadComparison>({
    ...(against === null ? statements : againstStatements)[points.dataset],
    values: [
      ...[...bounds, timestamp(nowMs), timestamps(compared.unreadable), compared.periodMs / 1000],
      ...pointParameters(points),
      ...(against === null ? [] : [against]),
    ],
  });
  const [row] = result.rows;
  if (row === undefined) throw new Error('a query without rows');
  return row;
}

const statements = byDataset((_, name) => comparison(name, false));

/** Compare with another source. */
const againstStatements = byDataset((_, name) => comparison(name, true));

/**
 * `$1` series, `$2` and `$3` the range, `$4` the time of the observation, `$5` unreadable periods and `$6` their
 * seconds, `$7` times, `$8`... the value columns; after them the name of another source.
 *
 * @param isAgainst compares to the tick of the coarser of two sources: its most decimals in the range, column by column.
 */
function comparison(dataset: PointLines['dataset'], isAgainst: boolean) {
  const { columns, incoming, stored, different, writtenOtherwise, object } = pointSql(dataset, 7);
  const scale = (from: string, column: string) => `(select max(min_scale(${column})) from ${from})`;
  const differs = isAgainst
    ? columns
        .map((column) => {
          const ticks = `least(${scale('incoming', column)}, ${scale('stored', column)})`;
          return `round(i.${column}, ${ticks}) <> round(s.${column}, ${ticks})`;
        })
        .join(' or ')
    : different;
  const source = `$${8 + columns.length}::text`;
  const target = isAgainst
    ? {
        table: 'cross_differences',
        column: 'source, ',
        value: `${source}, `,
        key: 'series_id, source, time',
      }
    : { table: 'differences', column: '', value: '', key: 'series_id, time' };
  const valuesOf = (from: 'i' | 's') => `case when ${from}.time is not null then ${object(from)} end`;
  return {
    name: `compare-${dataset}${isAgainst ? '-against' : ''}`,
    text: `
      with incoming as (
        ${incoming} where time >= $2 and time < $3
      ), held as materialized (
        select s.*, exists (select from unnest($5::timestamptz[]) p
                            where s.time >= p and s.time < p + make_interval(secs => $6::float8)) as is_unread
        from (${stored}) s
      ), stored as materialized (
        select * from held where not is_unread
      ), compared as (
        select coalesce(i.time, s.time) as time, ${valuesOf('s')} as here, ${valuesOf('i')} as there,
               case when s.time is null then 'missing_here'
                    when i.time is null then 'missing_there'
                    when ${differs} then 'changed'
                    when ${writtenOtherwise} then 'rewritten'
                    else 'same' end as kind
        from incoming i full join stored s on s.time = i.time
      ), kept as (
        insert into tidemark.${target.table} (series_id, ${target.column}time, seen_at, kind, here, there)
        select $1, ${target.value}time, $4, kind, here, there from compared
        where kind in ('missing_here', 'missing_there', 'changed')
        on conflict (${target.key}) do update
          set seen_at = excluded.seen_at, kind = excluded.kind, here = excluded.here, there = excluded.there
      )
      select count(*)::int as points, count(*) filter (where kind = 'missing_here')::int as "missingHere",
             count(*) filter (where kind = 'missing_there')::int as "missingThere",
             count(*) filter (where kind = 'changed')::int as changed,
             count(*) filter (where kind = 'rewritten')::int as rewritten,
             (select count(*) from held where is_unread)::int as unread
      from compared`,
  };
}
