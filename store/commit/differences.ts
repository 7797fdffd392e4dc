/**
 * Differences between answers and stored points, compared as exact text. A difference stays in `tidemark.differences`,
 * with both values, until a repair or a later verify finds the point equal. The points themselves are not touched.
 */

import type pg from 'pg';
import { byDataset, columnNames, datasetNames, datasetOf } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { PointLines } from '../../model/point-lines.ts';
import type { Range } from '../../model/ranges.ts';
import type { Database } from '../db/database.ts';
import {
  float8,
  int4,
  jsonb,
  listOf,
  nullable,
  oneOf,
  type RowOf,
  range,
  rowsOf,
  statement,
  statementsBy,
  text,
  time,
} from '../db/statement.ts';
import { identity, identityColumns } from '../series/series.ts';
import { pointSql } from './points.ts';

export type Difference = RowOf<typeof difference>;

/** Limit on listed differences: a source with other data differs everywhere. All differences are stored. */
const maxListed = 100_000;

/**
 * The differences within some ranges, in order of series and time, up to a limit.
 *
 * @param against another source; null: the series' own.
 */
export async function readDifferences(
  database: Database,
  ranges: ReadonlyArray<Range & { readonly seriesId: number }>,
  against: string | null = null,
): Promise<Difference[]> {
  const within = { ranges: ranges.map(({ seriesId, ...range }) => ({ seriesId, range })), against };
  const rows = await differencesIn(sideOf(against)).on(database.pool, within);
  return rows.map((row) => ({ ...row, here: sortColumns(row.here), there: sortColumns(row.there) }));
}

/** Values by column, as exact text; null where there is no such point. */
const valuesOfSide = jsonb<Readonly<Record<string, string>> | null>();
const difference = {
  ...{ seriesId: int4, timeMs: time, kind: oneOf<'missing_here' | 'missing_there' | 'changed'>() },
  ...{ here: valuesOfSide, there: valuesOfSide },
};
const textsOf = (column: string) =>
  `(select jsonb_object_agg(key, value) from jsonb_each_text(d.${column})) as ${column}`;

/** What points are compared with: the series' own source, or another one, whose differences are kept apart. */
const sides = {
  own: { table: 'tidemark.differences', isOfSide: '$against is null', column: '', value: '', key: 'series_id, time' },
  other: {
    ...{ table: 'tidemark.cross_differences', isOfSide: 'source = $against' },
    ...{ column: 'source, ', value: '$against, ', key: 'series_id, source, time' },
  },
};
const bySide = <Made>(make: (side: keyof typeof sides) => Made) => statementsBy(['own', 'other'], make);
const sideOf = (against: string | null) => (against === null ? 'own' : 'other');

const differencesIn = bySide((side) =>
  statement({
    name: `differences-in ${side}`,
    isPlannedAnew: true,
    text: `
      select d.series_id as "seriesId", d.time as "timeMs", d.kind, ${textsOf('here')}, ${textsOf('there')}
      from (select * from ${sides[side].table} where ${sides[side].isOfSide}) d
      join (select series_id, range_agg(range) as ranges from $ranges group by series_id) u
        on u.series_id = d.series_id and u.ranges @> d.time
      order by d.series_id, d.time limit ${maxListed}`,
    parameters: { ranges: rowsOf({ seriesId: int4, range }), against: nullable(text) },
    row: difference,
  }),
);

/** The order of a candle's fields: PostgreSQL sorts an object's names in its own way. */
function sortColumns(values: Difference['here']): Difference['here'] {
  if (values === null) return null;
  const columns = datasetNames.flatMap((dataset) => columnNames[dataset]);
  return Object.fromEntries(columns.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));
}

/** Periods with known differences, by series, their times ascending. @param seriesIds absent: every series. */
export function readDifferingPeriods(database: Database, seriesIds: readonly number[] | undefined) {
  return differingPeriods.on(database.pool, { seriesIds: seriesIds ?? null });
}

const differingPeriods = statement({
  name: 'differing-periods',
  isPlannedAnew: true,
  text: `
    select ${identityColumns}, array_agg((extract(epoch from d.time) * 1000)::double precision order by d.time) as
      "timesMs"
    from tidemark.differences d join tidemark.series s on s.id = d.series_id
    where $seriesIds is null or s.id = any ($seriesIds)
    group by s.id order by s.id`,
  parameters: { seriesIds: nullable(listOf(int4)) },
  row: { ...identity, timesMs: listOf(float8) },
});

export interface Comparison {
  /** Points on either side. */
  readonly points: number;
  /** Points of the source that are not stored. */
  readonly missingHere: number;
  /** Stored points that the source does not have. */
  readonly missingThere: number;
  readonly changed: number;
  /** Points with equal numbers and other digits: `1.10` and `1.1`. They are no difference and need no repair. */
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
  const { seriesId, range: within, points, nowMs: now, against, unreadable } = compared;
  const bounds = { seriesId, start: within.startMs, end: within.endMs, against };
  const side = sideOf(against);
  const answered = { ...bounds, points, now, unreadable, periodSeconds: compared.periodMs / 1000 };
  // A statement of its own, and the first one: within one statement the new rows would conflict with the old ones.
  await deleteDifferences(side).on(client, bounds);
  return comparisons(side)[points.dataset].one(client, answered);
}

const deleteDifferences = bySide((side) =>
  statement({
    name: `delete-differences ${side}`,
    text: `delete from ${sides[side].table}
           where series_id = $seriesId and time >= $start and time < $end and ${sides[side].isOfSide}`,
    parameters: { seriesId: int4, start: time, end: time, against: nullable(text) },
  }),
);

/**
 * @param side `other` compares to the tick of the coarser of two sources: its most decimals in the range, column by
 * column. A value that either side lacks is no difference, and no delay is: it is that of each source.
 */
function comparisonOf(dataset: PointLines['dataset'], side: keyof typeof sides) {
  const { columns, incoming, stored, revised, writtenOtherwise, object } = pointSql(dataset);
  const { time } = datasetOf(dataset);
  const ofBoth = columns.filter((column) => time.density !== 'linked' || column !== time.delay);
  const { table, column: sourceColumn, value: source, key } = sides[side];
  const scale = (from: string, column: string) => `(select max(min_scale(${column})) from ${from})`;
  const differs =
    side === 'other'
      ? ofBoth
          .map((column) => {
            const ticks = `least(${scale('incoming', column)}, ${scale('stored', column)})`;
            return `round(i.${column}, ${ticks}) <> round(s.${column}, ${ticks})`;
          })
          .join(' or ')
      : revised;
  const isOtherText =
    side === 'other' ? ofBoth.map((column) => `i.${column}::text <> s.${column}::text`).join(' or ') : writtenOtherwise;
  const valuesOf = (from: 'i' | 's') => `case when ${from}.time is not null then ${object(from)} end`;
  return `
      with incoming as (
        ${incoming} where time >= $start and time < $end
      ), held as materialized (
        select s.*, exists (select from unnest($unreadable) p
                            where s.time >= p and s.time < p + make_interval(secs => $periodSeconds)) as is_unread
        from (${stored}) s
      ), stored as materialized (
        select * from held where not is_unread
      ), compared as (
        select coalesce(i.time, s.time) as time, ${valuesOf('s')} as here, ${valuesOf('i')} as there,
               case when s.time is null then 'missing_here'
                    when i.time is null then 'missing_there'
                    when ${differs} then 'changed'
                    when ${isOtherText} then 'rewritten'
                    else 'same' end as kind
        from incoming i full join stored s on s.time = i.time
      ), kept as (
        insert into ${table} (series_id, ${sourceColumn}time, seen_at, kind, here, there)
        select $seriesId, ${source}time, $now, kind, here, there from compared
        where kind in ('missing_here', 'missing_there', 'changed')${side === 'own' ? ' and $against is null' : ''}
        on conflict (${key}) do update
          set seen_at = excluded.seen_at, kind = excluded.kind, here = excluded.here, there = excluded.there
      )
      select count(*)::int as points, count(*) filter (where kind = 'missing_here')::int as "missingHere",
             count(*) filter (where kind = 'missing_there')::int as "missingThere",
             count(*) filter (where kind = 'changed')::int as changed,
             count(*) filter (where kind = 'rewritten')::int as rewritten,
             (select count(*) from held where is_unread)::int as unread
      from compared`;
}

const comparisons = bySide((side) =>
  byDataset((_, dataset) =>
    statement({
      name: `compare-${dataset} ${side}`,
      text: comparisonOf(dataset, side),
      parameters: {
        ...pointSql(dataset).parameters,
        ...{ now: time, unreadable: listOf(time), periodSeconds: float8, against: nullable(text) },
      },
      row: { points: int4, missingHere: int4, missingThere: int4, changed: int4, rewritten: int4, unread: int4 },
    }),
  ),
);
