/** Applies a watch list's changes of the tracked series. */

import type pg from 'pg';
import { type EpochMs, intervalMs } from '../../model/intervals.ts';
import { type KnownSeries, nameOfChange, type SeriesChange } from '../../planning/watch-list-changes.ts';
import { bool, float8, int4, jsonb, listOf, nullable, openRange, rowsOf, statement, time } from '../db/statement.ts';
import { lockSeries } from '../series/lock.ts';
import {
  identity,
  identityColumns,
  insertDefaultSources,
  keyParameters,
  keyValues,
  seriesColumns,
  seriesKey,
} from '../series/series.ts';

const ages = jsonb<KnownSeries['ages']>();

/** Every series that is or was tracked, in order of dataset and name. */
export const readKnownSeries = statement({
  name: 'known-series',
  text: `
    select ${identityColumns}, s.tracked, s.untracked_at is null as "isTracked", s.watch_ages as ages
    from tidemark.series s
    order by s.dataset desc, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.period`,
  row: { ...identity, tracked: openRange, isTracked: bool, ages },
});

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
  await lockSeries(
    client,
    changes.flatMap(({ seriesId }) => seriesId ?? []),
  );
  const stopped = changes.flatMap(({ kind, seriesId }) => (kind === 'stopped' && seriesId !== null ? [seriesId] : []));
  await stopSeries.on(client, { stopped, now: nowMs });
  await changeAges.on(client, { kept: changes.filter(({ kind }) => kind === 'kept') });
  const tracked = changes.flatMap(({ series, after, kind, ages }, place) =>
    after === null || kind === 'kept'
      ? []
      : [{ ...keyValues(series), seconds: intervalMs[series.interval] / 1000, range: after, ages, place }],
  );
  const written = await trackAll.on(client, { tracked });
  const idOf = new Map(written.map(({ id, series }) => [nameOfChange(series), id]));
  return changes.map((change) => ({ ...change, seriesId: idOf.get(nameOfChange(change.series)) ?? change.seriesId }));
}

const stopSeries = statement({
  name: 'stop-series',
  text: `update tidemark.series set untracked_at = coalesce(untracked_at, $now), watch_ages = null
         where id = any ($stopped)`,
  parameters: { stopped: listOf(int4), now: time },
});

const changeAges = statement({
  name: 'change-watch-ages',
  text: 'update tidemark.series s set watch_ages = kept.ages from $kept where s.id = kept.series_id',
  parameters: { kept: rowsOf({ seriesId: nullable(int4), ages: nullable(ages) }) },
});

const trackAll = statement({
  name: 'track-all-series',
  text: `
     with made as (
     insert into tidemark.series as s
       (dataset, exchange_id, base_id, quote_id, asset_id, interval, period, tracked, watch_ages)
     select dataset, exchange, base, quote, asset, interval, make_interval(secs => seconds), range, ages
     from $tracked order by place
     on conflict (dataset, exchange_id, base_id, quote_id, asset_id, interval) do update
       set tracked = excluded.tracked, watch_ages = excluded.watch_ages,
           untracked_at = null, blocked_until = null, blocked_kind = null, blocked_message = null
     returning ${seriesColumns}
     ), sourced as (${insertDefaultSources})
     select * from made`,
  parameters: {
    tracked: rowsOf({ ...keyParameters, seconds: float8, range: openRange, ages: nullable(ages), place: int4 }),
  },
  row: { id: int4, series: seriesKey },
});
