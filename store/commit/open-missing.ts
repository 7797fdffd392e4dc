/**
 * Opens the periods of points that another source of a series has and the store lacks, as a comparison found, so that
 * this source is asked for them.
 */

import { byDataset } from '../../model/datasets/index.ts';
import { type EpochMs, intervalMs, periodStart } from '../../model/intervals.ts';
import { normalize, type Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { timesWithin } from '../../planning/periods.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { bool, float8, int4, listOf, nullable, ranges, statement, text, time } from '../db/statement.ts';
import { lockSeries } from '../series/lock.ts';
import { identity, identityColumns } from '../series/series.ts';

/** Points that a source has, and the store lacks. */
export interface MissingHere {
  readonly series: SeriesKey;
  readonly source: string;
  readonly points: number;
  /** Whether it is a source of the series, so that their periods are gaps now. */
  readonly isOpened: boolean;
}

/** @param seriesIds absent: every series. @param within absent: at any time. */
export async function openMissing(
  database: Database,
  seriesIds: readonly number[] | undefined,
  nowMs: EpochMs,
  within?: Range,
): Promise<MissingHere[]> {
  const found: (MissingHere & { readonly timesMs: readonly EpochMs[]; readonly seriesId: number })[] = [];
  for (const row of await missingHere.on(database.pool, { seriesIds: seriesIds ?? null })) {
    const { seriesId, series } = row;
    const timesMs = timesWithin(row.timesMs, series, within);
    if (timesMs.length === 0) continue;
    const stored = await storedTimes[series.dataset].on(database.pool, { seriesId, timesMs });
    // A repair or a refresh may have brought them.
    const has = new Set(stored.map(({ timeMs }) => timeMs));
    const missing = timesMs.filter((timeMs) => !has.has(timeMs));
    if (missing.length > 0) found.push({ ...row, timesMs: missing, points: missing.length });
  }
  for (const { seriesId, series, source, timesMs, isOpened } of found) {
    if (!isOpened) continue;
    const periods = timesMs.map((timeMs) => {
      const startMs = periodStart(timeMs, series.interval);
      return { startMs, endMs: startMs + intervalMs[series.interval] };
    });
    await inTransaction(database, async (client) => {
      await lockSeries(client, [seriesId]);
      await open.on(client, { seriesId, source, periods: normalize(periods), now: nowMs });
    });
  }
  return found.map(({ series, source, isOpened, points }) => ({ series, source, isOpened, points }));
}

const storedTimes = byDataset(({ table }, dataset) =>
  statement({
    name: `stored-times-${dataset}`,
    isPlannedAnew: true,
    text: `select time as "timeMs" from tidemark.${table}
           where series_id = $seriesId and time = any (select to_timestamp(ms / 1000) from unnest($timesMs) ms)`,
    parameters: { seriesId: int4, timesMs: listOf(float8) },
    row: { timeMs: time },
  }),
);

const missingHere = statement({
  name: 'missing-here',
  isPlannedAnew: true,
  text: `
    select ${identityColumns}, d.source, own.source is not null as "isOpened",
           array_agg((extract(epoch from d.time) * 1000)::double precision order by d.time) as "timesMs"
    from tidemark.cross_differences d join tidemark.series s on s.id = d.series_id
    left join tidemark.series_sources own on own.series_id = d.series_id and own.source = d.source
    where d.kind = 'missing_here' and s.covered @> d.time and ($seriesIds is null or s.id = any ($seriesIds))
    group by s.id, d.source, own.source order by s.id, d.source`,
  parameters: { seriesIds: nullable(listOf(int4)) },
  row: { ...identity, source: text, isOpened: bool, timesMs: listOf(float8) },
});

/** A better source has answered without them: it is not asked first. */
const askLaterSeconds = 600;

const open = statement({
  name: 'open-missing',
  text: `
    with opened as (
      update tidemark.series set covered = covered - $periods, confirmed_empty = confirmed_empty - $periods,
                                 before_beginning = before_beginning - $periods
      where id = $seriesId
    ), given as (
      update tidemark.source_ranges set covered = covered - $periods where series_id = $seriesId
    ), lacked as (
      insert into tidemark.pending_windows (series_id, range, reason, message, attempts, first_at, retry_at, source)
      select $seriesId, period, 'lacks', $source || ' has a point of it', 1, $now,
             $now + make_interval(secs => ${askLaterSeconds}), better.source
      from unnest($periods) period, (
        select b.source from tidemark.series_sources b
        join tidemark.series_sources own on own.series_id = b.series_id and own.rank > b.rank
        where own.series_id = $seriesId and own.source = $source order by b.rank desc limit 1) better
      on conflict do nothing
    )
    delete from tidemark.cross_differences
    where series_id = $seriesId and source = $source and kind = 'missing_here' and $periods @> time`,
  parameters: { seriesId: int4, source: text, periods: ranges, now: time },
});
