/**
 * Removes points that the source which gave them does not have any more, as a comparison found: the trace of an event
 * that came late, or a point of another market. Their values stay as revisions, with `removed`, and their periods are
 * requested again: another answer decides whether they are silent, or missing.
 */

import type pg from 'pg';
import { byDataset, columnNames } from '../../model/datasets/index.ts';
import { type EpochMs, intervalMs } from '../../model/intervals.ts';
import { normalize, type Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { periodOf, periodsIn } from '../../planning/periods.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { int4, listOf, nullable, range, ranges, statement, time } from '../db/statement.ts';
import { markChangedMonths } from '../series/changed-months.ts';
import { lockSeries } from '../series/lock.ts';
import { daysBehind } from '../series/rollups-behind.ts';
import { identity, identityColumns } from '../series/series.ts';

/** @param seriesIds absent: every series. @param within absent: at any time. @returns the removed points. */
export async function removeAbsent(
  database: Database,
  seriesIds: readonly number[] | undefined,
  nowMs: EpochMs,
  within?: Range,
): Promise<Removed[]> {
  const removed: Removed[] = [];
  for (const { seriesId, series } of await withAbsent.on(database.pool, { seriesIds: seriesIds ?? null })) {
    const periods = within === undefined ? null : periodsIn(within, series.interval);
    const rows = await inTransaction(database, (client) => removeOf(client, seriesId, series, nowMs, periods));
    removed.push(...rows.map(({ timeMs }) => ({ seriesId, timeMs })));
  }
  return removed;
}

interface Removed {
  readonly seriesId: number;
  readonly timeMs: EpochMs;
}

async function removeOf(
  client: pg.PoolClient,
  seriesId: number,
  series: SeriesKey,
  nowMs: EpochMs,
  within: Range | null,
) {
  await lockSeries(client, [seriesId]);
  const rows = await removals[series.dataset].on(client, { seriesId, now: nowMs, within });
  const [first] = rows;
  if (first === undefined) return [];
  const lastMs = rows.at(-1)?.timeMs ?? first.timeMs;
  const days = daysBehind(series, { startMs: first.timeMs, endMs: lastMs + intervalMs[series.interval] });
  const periods = rows.map(({ timeMs }) => periodOf(timeMs, series.interval));
  await settle[series.dataset].on(client, { seriesId, points: rows.length, days, periods: normalize(periods) });
  await markChangedMonths(client, [{ seriesId, firstMs: first.timeMs, lastMs }]);
  return rows;
}

const withAbsent = statement({
  name: 'series-with-absent-points',
  isPlannedAnew: true,
  text: `select ${identityColumns} from tidemark.series s
         where ($seriesIds is null or s.id = any ($seriesIds)) and exists (
           select from tidemark.differences d where d.series_id = s.id and d.kind = 'missing_there')
         order by s.id`,
  parameters: { seriesIds: nullable(listOf(int4)) },
  row: identity,
});

const removals = byDataset(({ table }, dataset) =>
  statement({
    name: `remove-absent-${dataset}`,
    isPlannedAnew: true,
    text: `
      with absent as (
        -- Only one source was asked: what another one gave is not known to be absent there.
        delete from tidemark.differences d using (
          select source from tidemark.series_sources where series_id = $seriesId order by archive, rank limit 1) asked
        where d.series_id = $seriesId and d.kind = 'missing_there' and ($within is null or $within @> d.time)
          and not exists (
            select from tidemark.source_ranges g
            where g.series_id = $seriesId and g.source <> asked.source and g.covered @> d.time)
        returning d.time
      ), removed as (
        delete from tidemark.${table} p using absent where p.series_id = $seriesId and p.time = absent.time
        returning p.*
      ), kept as (
        insert into tidemark.point_revisions (series_id, time, seen_at, before)
        select $seriesId, time, $now, jsonb_build_object(
          ${columnNames[dataset].map((column) => `'${column}', ${column}`).join(', ')}, 'removed', true)
        from removed on conflict do nothing
      )
      select time as "timeMs" from removed order by time`,
    parameters: { seriesId: int4, now: time, within: nullable(range) },
    row: { timeMs: time },
  }),
);

const settle = byDataset(({ table }, dataset) =>
  statement({
    name: `settle-removed-${dataset}`,
    isPlannedAnew: true,
    text: `
      with rest as materialized (
        select min(time) as earliest, max(time) as newest from tidemark.${table} where series_id = $seriesId
      ), given as (
        update tidemark.source_ranges set covered = covered - $periods where series_id = $seriesId
      )
      update tidemark.series
         set covered = covered - $periods, points = points - $points, revised = revised + $points,
             earliest = rest.earliest, newest = rest.newest,
             newest_covered = least(newest_covered, rest.newest),
             rollups_behind = rollups_behind + case when $days is null then '{}' else tstzmultirange($days) end
      from rest where id = $seriesId`,
    parameters: { seriesId: int4, points: int4, days: nullable(range), periods: ranges },
  }),
);
