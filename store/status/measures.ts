/**
 * Measurements: completeness and age of the tracked series, gaps, requests and polls, which read the series' rows and
 * the ledger, never points; and sizes on disk.
 */

import { type DatasetName, datasetNames, datasets } from '../../model/datasets/index.ts';
import type { EpochMs, Interval } from '../../model/intervals.ts';
import type { ListName } from '../../model/lists/index.ts';
import type { ShownReason } from '../../model/reasons.ts';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import type { Database } from '../db/database.ts';
import { float8, int8, nullable, oneOf, type RowOf, statement, statementsBy, text, time } from '../db/statement.ts';
import { countFetchesSince } from '../ledger/ledger.ts';
import { readFailures } from '../ledger/source-outage.ts';
import { atAndGrace, nowAndGrace } from '../series/gaps.ts';
import { isAwaiting } from '../series/reason-sets.ts';
import { timescaleSchema } from '../timescale/extension.ts';

export type IntervalMeasures = RowOf<typeof measureIntervals.row>;

/** Measures the tracked series by dataset and interval. */
export const measureIntervals = statement({
  name: 'measure-intervals',
  text: `
      with empty as materialized (
        select series_id, max(upper(range)) as up_to from tidemark.pending_windows
        where ${isAwaiting('reason')} group by series_id
      ), measured as (
        select s.*, lower(s.tracked) <= $nowMs and (upper_inf(s.tracked) or upper(s.tracked) > $nowMs) as reaches_now,
               coalesce(s.blocked_until > $nowMs, false) as is_blocked,
               greatest(lower(s.tracked), upper(s.covered), e.up_to) as known_up_to
        from tidemark.closed_series(${atAndGrace}) s left join empty e on e.series_id = s.id
        where s.untracked_at is null
      )
      select dataset, interval, count(*) as series, count(*) filter (where is_blocked) as blocked,
             sum(points)::bigint as points, sum(revised)::bigint as revised,
             sum(greatest(0, extract(epoch from least(upper(tracked), closed_up_to) - lower(tracked))))::float8
               as "trackedSeconds",
             max(greatest(0, extract(epoch from closed_up_to - known_up_to)))
               filter (where reaches_now and not is_blocked)::float8 as "lagSeconds",
             max(extract(epoch from $nowMs - newest)) filter (where reaches_now)::float8 as "newestAgeSeconds"
      from measured group by dataset, interval order by dataset, interval`,
  parameters: nowAndGrace,
  row: {
    ...{ dataset: oneOf<SeriesKey['dataset']>(), interval: oneOf<Interval>(), series: int8 },
    /** Series that the source refuses at present. */
    blocked: int8,
    points: int8,
    /** Changed values of closed periods that were observed. */
    revised: int8,
    /** Total length of the tracked ranges, up to the last closed period. */
    trackedSeconds: float8,
    /**
     * Lag of the series that is furthest behind, among those tracked up to now: from the end of its covered and
     * pending empty ranges to its last closed period. Null: no series is tracked up to now.
     */
    lagSeconds: nullable(float8),
    /** Age of the newest point, of the series where it is oldest; null: there are no points. */
    newestAgeSeconds: nullable(float8),
  },
});

export type GapMeasures = RowOf<typeof measureGaps.row>;

/** Measures gaps by reason. Reasons without gaps are left out. */
export const measureGaps = statement({
  name: 'measure-gaps',
  text: `
    select dataset, interval, reason, count(*) as gaps,
           sum(extract(epoch from gap_end - gap_start))::float8 as seconds
    from tidemark.gap_pieces(${atAndGrace}, null, false)
    group by dataset, interval, reason order by dataset, interval, reason`,
  parameters: nowAndGrace,
  row: {
    ...{ dataset: oneOf<SeriesKey['dataset']>(), interval: oneOf<Interval>(), reason: oneOf<ShownReason>() },
    ...{ gaps: int8, seconds: float8 },
  },
});

export type RequestMeasures = Awaited<ReturnType<typeof measureRequests>>;

export async function measureRequests(database: Database, nowMs: EpochMs) {
  const { successAtMs, failures } = await readFailures(database, defaultSource, nowMs);
  const lastMinute = await countFetchesSince(database, nowMs - 60_000);
  return {
    /** Requests that ended in the last 60 seconds, by lane. */
    lastMinute,
    /** Time of the newest successful request; null: the ledger has none. */
    successAtMs,
    /** Failures since then that any request would have met. */
    failuresSince: failures,
  };
}

export type PollMeasures = RowOf<typeof measurePolls.row>;

export const measurePolls = statement({
  name: 'measure-polls',
  text: `
      select l.list as dataset, max(extract(epoch from l.every))::float8 as "everySeconds",
             case when bool_and(c.time is not null) then max(extract(epoch from $nowMs - c.time))::float8 end
               as "newestAgeSeconds"
      from tidemark.lists l
      left join lateral (
        select p.time from tidemark.list_polls p where p.list_id = l.id and p.completed_at is not null
        order by p.begun_at desc limit 1
      ) c on true
      where l.untracked_at is null group by l.list order by l.list`,
  parameters: { nowMs: time },
  row: {
    dataset: oneOf<ListName>(),
    /** Polling interval; of the markets of several assets the longest. */
    everySeconds: float8,
    /** Age of the newest poll, of several lists the oldest; null: there is none yet. */
    newestAgeSeconds: nullable(float8),
  },
});

/** Fewer points give no estimate: the indexes and pages of a single chunk are half empty. */
const minPoints = 100_000;

/** Plain tables: their size over their points. */
const plainTableSize = `
  select coalesce(sum(points), 0)::bigint as points, pg_total_relation_size($table::regclass)::bigint as bytes
  from tidemark.series where dataset = $dataset`;

/**
 * Hypertables: the size of compressed chunks over their rows, as `analyze` last counted them. The newest chunks are
 * still rows, and so is a whole fresh backfill until the policy runs.
 */
const columnstoreSize = (schema: string) => `
  select coalesce(sum(${schema}.approximate_row_count(format('%I.%I', chunk_schema, chunk_name)::regclass)),
    0)::bigint as points,
         coalesce(sum(after_compression_total_bytes), 0)::bigint as bytes
  from ${schema}.chunk_columnstore_stats($table::regclass)
  where compression_status = 'Compressed' and $dataset is not null`;

/** By the schema of TimescaleDB; `''`: the tables are plain. */
const tableSize = statementsBy(['', 'public'] as string[], (schema) =>
  statement({
    name: `table-size ${schema}`,
    isPlannedAnew: true,
    text: schema === '' ? plainTableSize : columnstoreSize(schema),
    parameters: { dataset: text, table: text },
    row: { points: int8, bytes: int8 },
  }),
);

/** Bytes a point, with indexes: as measured here, or as documented where there are few points. */
export interface PointBytes {
  readonly row: number;
  /** In the columnstore; without one, the same. */
  readonly kept: number;
}

export async function bytesPerPoint(database: Database): Promise<Readonly<Record<SeriesKey['dataset'], PointBytes>>> {
  const schema = await timescaleSchema(database.pool);
  const isPlain = schema === null;
  const of = async (dataset: SeriesKey['dataset']) => {
    const { table, typicalBytes } = datasets[dataset];
    const size = await tableSize(schema ?? '').one(database.pool, { dataset, table: `tidemark.${table}` });
    const seen = size.points >= minPoints ? size.bytes / size.points : null;
    const { row, columnstore } = typicalBytes;
    return isPlain ? { row: seen ?? row, kept: seen ?? row } : { row, kept: seen ?? columnstore };
  };
  const found: Partial<Record<DatasetName, PointBytes>> = {};
  for (const dataset of datasetNames) found[dataset] = await of(dataset);
  return found as Record<DatasetName, PointBytes>;
}

/** Rows in quarantine, by dataset. */
export const measureQuarantine = statement({
  name: 'measure-quarantine',
  text: 'select dataset, count(*) as rows from tidemark.quarantine group by dataset order by dataset',
  row: { dataset: text, rows: int8 },
});

/** Bytes of the database on disk. Reads the size of every file, and many chunks have many files. */
export async function databaseBytes(database: Database): Promise<number> {
  return (await databaseSize.one(database.pool, {})).bytes;
}

const databaseSize = statement({
  name: 'database-size',
  text: 'select pg_database_size(current_database()) as bytes',
  row: { bytes: int8 },
});
