/** Applies a watch list's changes of the tracked series. */

import type pg from 'pg';
import { type EpochMs, intervalMs } from '../../model/intervals.ts';
import { type KnownSeries, nameOfChange, type SeriesChange } from '../../planning/watch-list-changes.ts';
import { timeRange, timestamp } from '../db/database.ts';
import {
  insertDefaultSources,
  keyColumns,
  type SeriesRow,
  seriesColumns,
  splitSeriesRow,
  toSeriesKey,
} from '../series/series.ts';

/** Every series that is or was tracked, in order of dataset and name. */
export async function readKnownSeries(client: pg.Pool | pg.PoolClient): Promise<KnownSeries[]> {
  const result = await client.query<
    SeriesRow & Pick<KnownSeries, 'isTracked' | 'ages'> & { startMs: EpochMs; endMs: EpochMs | null }
  >(
    `select ${seriesColumns}, lower(s.tracked) as "startMs", upper(s.tracked) as "endMs",
            s.untracked_at is null as "isTracked", s.watch_ages as ages
     from tidemark.series s
     order by s.dataset desc, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.period`,
  );
  return result.rows.map((row) => {
    const { startMs, endMs, ...known } = splitSeriesRow(row);
    return { ...known, tracked: { startMs, endMs } };
  });
}

/**
 * Changes the tracked ranges. Points and coverage stay.
 *
 * @returns the changes, with the id of every series.
 */
export async function writeSeriesChanges(
  client: pg.PoolClient,
  changes: readonly SeriesChange[],
  nowMs: EpochMs,
): Promise<SeriesChange[]> {
  const ids = changes.flatMap(({ seriesId }) => (seriesId === null ? [] : [seriesId]));
  // In the order in which commits lock them.
  await client.query('select from tidemark.series where id = any ($1::int[]) order by id for no key update', [ids]);
  const stopped = changes.flatMap(({ kind, seriesId }) => (kind === 'stopped' && seriesId !== null ? [seriesId] : []));
  await client.query(
    `update tidemark.series set untracked_at = coalesce(untracked_at, $2), watch_ages = null
     where id = any ($1::int[])`,
    [stopped, timestamp(nowMs)],
  );
  const kept = changes.filter(({ kind }) => kind === 'kept');
  await client.query(
    `update tidemark.series s set watch_ages = c.ages
     from unnest($1::int[], $2::jsonb[]) as c (id, ages) where s.id = c.id`,
    [kept.map(({ seriesId }) => seriesId), kept.map(serializeAges)],
  );
  const tracked = changes.flatMap((change) =>
    change.after === null || change.kind === 'kept' ? [] : [{ ...change, after: change.after }],
  );
  const written = await client.query<SeriesRow>(
    `with made as (
     insert into tidemark.series as s
       (dataset, exchange_id, base_id, quote_id, asset_id, interval, period, tracked, watch_ages)
     select dataset, exchange_id, base_id, quote_id, asset_id, interval, make_interval(secs => period), range, ages
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::double precision[],
                 $8::tstzrange[], $9::jsonb[])
       with ordinality as w (dataset, exchange_id, base_id, quote_id, asset_id, interval, period, range, ages, place)
     order by place
     on conflict (dataset, exchange_id, base_id, quote_id, asset_id, interval) do update
       set tracked = excluded.tracked, watch_ages = excluded.watch_ages,
           untracked_at = null, blocked_until = null, blocked_kind = null, blocked_message = null
     returning ${seriesColumns}
     ), sourced as (${insertDefaultSources})
     select * from made`,
    [
      ...keyColumns(tracked.map(({ series }) => series)),
      tracked.map(({ series }) => intervalMs[series.interval] / 1000),
      tracked.map(({ after }) => timeRange(after.startMs, after.endMs)),
      tracked.map(serializeAges),
    ],
  );
  const idOf = new Map(written.rows.map((row) => [nameOfChange(toSeriesKey(row)), row.id]));
  return changes.map((change) => ({
    ...change,
    seriesId: idOf.get(nameOfChange(change.series)) ?? change.seriesId,
  }));
}

function serializeAges({ ages }: SeriesChange): string | null {
  return ages === null ? null : JSON.stringify(ages);
}
