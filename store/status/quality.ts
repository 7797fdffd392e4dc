/** What is odd in the points of a series, as the view `quality` has it. */

import type pg from 'pg';
import type { Database } from '../db/database.ts';
import { float8, int4, int8, nullable, type RowOf, statement, time } from '../db/statement.ts';
import { identity, identityColumns } from '../series/series.ts';

export type Quality = RowOf<(typeof quality)['row']>;

/** The tracked series with the number of their points, by which a report is as long. */
export async function seriesToReport(database: Database): Promise<ReadonlyMap<number, number>> {
  const rows = await reported.on(database.pool, {});
  return new Map(rows.map(({ seriesId, points }) => [seriesId, points]));
}

const reported = statement({
  name: 'series-to-report',
  text: `select id as "seriesId", points from tidemark.series where untracked_at is null or points > 0 order by id`,
  row: { seriesId: int4, points: int8 },
});

/** Reads every point of the series. */
export async function readQuality(client: pg.PoolClient, seriesId: number): Promise<Quality | undefined> {
  const [row] = await quality.on(client, { seriesId });
  return row;
}

/** Shares are of one, and null where the dataset has no such value. */
const quality = statement({
  name: 'quality',
  isPlannedAnew: true,
  text: `
    select ${identityColumns}, q.points, q.share::float8 as covered, q.gaps, q.silences,
           (extract(epoch from q.longest_silence) * 1000)::bigint as "longestSilenceMs", q.revisions, q.quarantined,
           q.inconsistent, q.spikes, q.largest_spike::float8 as "largestSpike",
           q.largest_spike_time as "largestSpikeMs", q.unchanged::float8 as unchanged,
           q.longest_unchanged as "longestUnchanged", q.longest_unchanged_from as "unchangedFromMs",
           q.zero_volume::float8 as "zeroVolume", q.empty::float8 as empty
    from public.quality q join tidemark.series s on s.id = q.series_id
    where q.series_id = $seriesId`,
  parameters: { seriesId: int4 },
  row: {
    ...identity,
    ...{ points: int8, covered: nullable(float8), gaps: int4, silences: int8, longestSilenceMs: nullable(int8) },
    ...{ revisions: int8, quarantined: int8, inconsistent: nullable(int8), spikes: nullable(int8) },
    ...{ largestSpike: nullable(float8), largestSpikeMs: nullable(time), unchanged: nullable(float8) },
    ...{ longestUnchanged: nullable(int8), unchangedFromMs: nullable(time), zeroVolume: nullable(float8) },
    empty: nullable(float8),
  },
});
