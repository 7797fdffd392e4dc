/**
 * Comparing an answer with what is stored, digit by digit. What differs is kept in `tidemark.differences`, with both
 * values, until a later comparison of the same range finds it equal. The points themselves are not touched.
 */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import { timestamp } from './database.ts';
import type { PointLines } from './point-lines.ts';
import { pointArrays, pointSql } from './point-sql.ts';

export interface Comparison {
  /** Points on either side. */
  readonly points: number;
  /** Points that the source has and this database does not. */
  readonly missingHere: number;
  /** Points that this database has and the source does not. */
  readonly missingThere: number;
  readonly changed: number;
  /** Equal as numbers, but with other digits: `1.10` and `1.1`. No difference, and nothing to repair. */
  readonly rewritten: number;
}

/** How many points differ, but for those that are only written in another way. */
export function differing(comparison: Pick<Comparison, 'missingHere' | 'missingThere' | 'changed'>): number {
  return comparison.missingHere + comparison.missingThere + comparison.changed;
}

/**
 * Compares what of an answer lies within `range` with what is stored there, within the caller's transaction, and keeps
 * what differs.
 */
export async function compareStored(
  client: pg.PoolClient,
  { seriesId, range, points, nowMs }: { seriesId: number; range: Range; points: PointLines; nowMs: EpochMs },
): Promise<Comparison> {
  const bounds = [seriesId, timestamp(range.startMs), timestamp(range.endMs)];
  // First, and by itself: within one statement the new rows would meet the old.
  await client.query({
    name: 'forget-differences',
    text: 'delete from tidemark.differences where series_id = $1 and time >= $2 and time < $3',
    values: bounds,
  });
  const result = await client.query<{
    points: number;
    missing_here: number;
    missing_there: number;
    changed: number;
    rewritten: number;
  }>({ ...statements[points.dataset], values: [...bounds, timestamp(nowMs), ...pointArrays(points)] });
  const row = result.rows[0];
  if (row === undefined) throw new Error('a query without rows');
  return {
    points: row.points,
    missingHere: row.missing_here,
    missingThere: row.missing_there,
    changed: row.changed,
    rewritten: row.rewritten,
  };
}

const statements = Object.freeze({
  candles: comparison('candles'),
  asset_history: comparison('asset_history'),
});

/** `$1` series, `$2` and `$3` the range, `$4` the time of seeing, `$5` times, `$6`... the value columns. */
function comparison(dataset: PointLines['dataset']) {
  const { incoming, stored, different, writtenOtherwise, object } = pointSql(dataset, 5);
  const valuesOf = (from: string) => `case when ${from}.time is not null then ${object(from)} end`;
  return {
    name: `compare-${dataset}`,
    text: `
      with incoming as (
        ${incoming} where time >= $2 and time < $3
      ), stored as materialized (
        ${stored}
      ), compared as (
        select coalesce(i.time, s.time) as time, ${valuesOf('s')} as here, ${valuesOf('i')} as there,
               case when s.time is null then 'missing_here'
                    when i.time is null then 'missing_there'
                    when ${different} then 'changed'
                    when ${writtenOtherwise} then 'rewritten'
                    else 'same' end as kind
        from incoming i full join stored s on s.time = i.time
      ), kept as (
        insert into tidemark.differences (series_id, time, seen_at, kind, here, there)
        select $1, time, $4, kind, here, there from compared
        where kind in ('missing_here', 'missing_there', 'changed')
        on conflict (series_id, time) do update
          set seen_at = excluded.seen_at, kind = excluded.kind, here = excluded.here, there = excluded.there
      )
      select count(*)::int as points, count(*) filter (where kind = 'missing_here')::int as missing_here,
             count(*) filter (where kind = 'missing_there')::int as missing_there,
             count(*) filter (where kind = 'changed')::int as changed,
             count(*) filter (where kind = 'rewritten')::int as rewritten
      from compared`,
  };
}
