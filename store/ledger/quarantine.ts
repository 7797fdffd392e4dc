/**
 * Quarantine: rows of answers that failed validation, kept as JSON text with the reason, once each, truncated if long.
 */

import type pg from 'pg';
import type { Dataset } from '../../model/dataset.ts';
import { datasetNames, datasets } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { objectOf } from '../../model/json.ts';
import type { Range } from '../../model/ranges.ts';
import { gridOrigin } from '../../model/rollup-levels.ts';
import type { RejectedRow } from '../../planning/answer.ts';
import type { Database } from '../db/database.ts';
import { int4, int8, nullable, type RowOf, range, rowsOf, statement, text, time } from '../db/statement.ts';

export async function quarantineRows(
  client: pg.PoolClient,
  entry: {
    readonly dataset: string;
    /** Absent for a polled list. */
    readonly seriesId?: number | null;
    readonly window?: Range | null;
    readonly rows: readonly RejectedRow[];
    readonly seenAtMs: EpochMs;
  },
): Promise<void> {
  if (entry.rows.length === 0) return;
  const { seenAtMs: seenAt, dataset, seriesId = null, window = null } = entry;
  const rejected = entry.rows.map((row) => ({
    reason: toStorable(row.reason),
    raw: toStorable(row.raw),
    time: readRejectedTime(row, dataset),
  }));
  await insertRejected.on(client, { seenAt, dataset, seriesId, window, rejected });
}

const insertRejected = statement({
  name: 'insert-rejected',
  text: `insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw, time)
         select $seenAt, $dataset, $seriesId, $window, * from $rejected
         on conflict do nothing`,
  parameters: {
    ...{ seenAt: time, dataset: text, seriesId: nullable(int4), window: nullable(range) },
    rejected: rowsOf({ reason: text, raw: text, time: nullable(time) }),
  },
});

/** A polled list brings the same bad row with other figures each time. */
const maxListRows = 1000;

/** Deletes all but the newest rows of a polled list in quarantine. */
export const trimQuarantine = statement({
  name: 'delete-old-rejected',
  text: `delete from tidemark.quarantine where dataset = $dataset and id <= (
           select id from tidemark.quarantine where dataset = $dataset order by id desc offset ${maxListRows} limit 1)`,
  parameters: { dataset: text },
});

/** Rows `q` of the series `s`, as the index finds them. */
export const belongsToSeries = 'q.dataset = s.dataset and coalesce(q.series_id, 0) = s.id';
/** Start of the period of `s` that holds the time of `q`. */
const periodStart = `date_bin(s.period, q.time, ${gridOrigin})`;

/**
 * Whether the period `n.time` of the series `s` holds no point. As a range also for candles: of an equality the planner
 * may make a hash of all points, and builds it again for each row in quarantine.
 */
const isWithoutPoint = (table: string) => `not exists (
  select from tidemark.${table} p where p.series_id = s.id and p.time >= n.time and p.time < n.time + s.period)`;
/** An expression for the series `s`, by its dataset. */
const caseOfDataset = (of: (dataset: Dataset) => string) =>
  `case s.dataset ${datasetNames.map((name) => `when '${name}' then ${of(datasets[name])}`).join(' ')} end`;
const hasNoPoint = caseOfDataset(({ table }) => isWithoutPoint(table));

/**
 * Periods of the series `s` that the row `q` may belong to and that hold no point, as rows of `time`. The
 * time of a row may be off by seconds, so the row may belong to the period before or after.
 */
const openPeriods = `
  select n.time from (values (${periodStart}), (case when q.time > ${periodStart} then ${periodStart} + s.period end)) n
    (time)
  where n.time is not null and ${hasNoPoint}`;
/** Whether `q` has a time, and one in or beside its window. */
const isPlaced = `(q.time is not null
  and (q.range is null or q.time >= lower(q.range) - s.period and q.time < upper(q.range) + s.period))`;

/**
 * Periods of the series `s` within the window of `q` that hold points. Counted, which costs less than a look-up of
 * each.
 */
const periodsWithPoints = caseOfDataset(
  ({ table, isOnGrid }) => `(
    select count(${isOnGrid ? '*' : `distinct date_bin(s.period, p.time, ${gridOrigin})`}) from tidemark.${table} p
    where p.series_id = s.id and p.time >= lower(q.range) and p.time < upper(q.range))`,
);
/** Windows of rows without a usable time in which a period holds no point. A subquery of its own, which is run once. */
const openWindows = `
  select q.series_id, q.range from (select distinct q.series_id, q.range
                                    from tidemark.quarantine q join tidemark.series s on ${belongsToSeries}
                                    where not ${isPlaced}) q join tidemark.series s on s.id = q.series_id
  where ${periodsWithPoints} < extract(epoch from upper(q.range) - lower(q.range)) / extract(epoch from s.period)`;

/**
 * Whether the row `q` of the series `s` is unresolved: no point of its period has come since, for example
 * after a repair at the source. A row without a usable time may belong to any period of its window.
 */
export const isUnresolved = `case when ${isPlaced} then exists (${openPeriods})
  else q.range is null or (q.series_id, q.range) in (${openWindows}) end`;

/** The periods of the series `s` within a range for which only rejected rows came, as a multirange. */
export function rejectedPeriods(start: string, end: string): string {
  return `(select r.ranges from tidemark.rejected_ranges(s.id, s.dataset, s.period, ${start}, ${end}) r)`;
}

/** Whether the row `q` belongs to a range: by its time, or, where that is not usable, by its window. */
const isWithin = (range: string) =>
  `case when q.time <@ q.range or q.range is null then q.time <@ ${range} else q.range && ${range} end`;

/** Whether the row `q` may belong to what is tracked of the series `s`. */
export const isOfTracked = `coalesce(${isWithin('s.tracked')}, true)`;

/** Counts the unresolved rows of some series and ranges. */
export async function countRejected(database: Database, ranges: ReadonlyMap<number, Range>): Promise<number> {
  const wanted = [...ranges].map(([id, { startMs, endMs }]) => ({
    id,
    range: { startMs, endMs: Math.max(startMs, endMs) },
  }));
  return (await countUnresolved.one(database.pool, { wanted })).rows;
}

const countUnresolved = statement({
  name: 'count-rejected',
  isPlannedAnew: true,
  text: `
    select count(*) as rows
    from (select * from $wanted) w join tidemark.series s on s.id = w.id
    join tidemark.quarantine q on ${belongsToSeries}
    where ${isUnresolved} and ${isWithin('w.range')}`,
  parameters: { wanted: rowsOf({ id: int4, range }) },
  row: { rows: int8 },
});

export type Quarantined = RowOf<typeof readQuarantined.row>;

/** Counts the unresolved rows of what is tracked, by series. `reason` is that of the newest row. */
export const readQuarantined = statement({
  name: 'quarantined',
  isPlannedAnew: true,
  text: `
    select s.id as "seriesId", count(*) as rows, (array_agg(q.reason order by q.seen_at desc, q.id desc))[1] as reason
    from tidemark.quarantine q join tidemark.series s on ${belongsToSeries}
    where s.untracked_at is null and ${isUnresolved} and ${isOfTracked} group by s.id order by s.id`,
  row: { seriesId: int4, rows: int8, reason: text },
});

/** The row's own time, by default from the field of its dataset; null: it has none. */
export function readRejectedTime(rejected: RejectedRow, dataset: string): EpochMs | null {
  const { raw, timeMs } = rejected;
  if (timeMs !== undefined) return isTime(timeMs) ? timeMs : null;
  const field = Object.values(datasets).find(({ name }) => name === dataset)?.timeField ?? 'time';
  const time = objectOf(raw)?.[field];
  return isTime(time) ? time : null;
}

function isTime(time: unknown): time is EpochMs {
  return typeof time === 'number' && Number.isInteger(time) && time >= 0 && time <= latestTimeMs;
}

/** The end of the year 9999, which every calendar library handles. */
const latestTimeMs = Date.UTC(9999, 11, 31);

/** PostgreSQL text cannot hold a NUL. */
export function toStorable(written: string): string {
  return written.replaceAll('\u0000', '\uFFFD');
}
