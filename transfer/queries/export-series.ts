/** The series of an export: ranges, coverage and gaps; and the snapshot that an export reads from. */

import type pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import { datasetNames, datasets } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { clip, type Range, subtract } from '../../model/ranges.ts';
import { describeReason } from '../../model/reasons.ts';
import { gridOrigin } from '../../model/rollup-levels.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { type Database, disableTimeouts, inTransaction, isLockWait } from '../../store/db/database.ts';
import {
  float8,
  int4,
  jsonb,
  nullable,
  openRange,
  type RowOf,
  range,
  ranges,
  statement,
  time,
} from '../../store/db/statement.ts';
import { rejectedPeriods } from '../../store/ledger/quarantine.ts';
import { isSeries, keyParameters, keyValues } from '../../store/series/series.ts';
import { nearestSeries } from '../../store/status/series-history.ts';

export interface ExportQuery {
  readonly series: readonly SeriesKey[];
  /** Null: from the start of each tracked range. */
  readonly fromMs: EpochMs | null;
  /** Null: to the end of each tracked range; of an open-ended one, to the end of its coverage. */
  readonly toMs: EpochMs | null;
  readonly nowMs: EpochMs;
  readonly graceMs: number;
}

interface ExportGap extends Range {
  readonly reason: string;
}

/** All ranges lie within `range`. */
export interface ExportedSeries {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** The requested range, widened to whole periods, up to the last closed one. */
  readonly range: Range;
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
  readonly covered: readonly Range[];
  readonly confirmedEmpty: readonly Range[];
  readonly beforeBeginning: readonly Range[];
  /** What of the range is not covered, or stored of no row because all were rejected, and why. */
  readonly gaps: readonly ExportGap[];
}

/**
 * @throws TidemarkError UNKNOWN_SERIES when one was never tracked; BAD_ARGUMENT when no period of the range has closed.
 */
export async function readExportSeries(client: pg.PoolClient, query: ExportQuery): Promise<ExportedSeries[]> {
  const found: ExportedSeries[] = [];
  for (const series of query.series) found.push(await readOne(client, series, query));
  return found;
}

async function readOne(client: pg.PoolClient, series: SeriesKey, query: ExportQuery): Promise<ExportedSeries> {
  const { fromMs, toMs, nowMs, graceMs } = query;
  const [row] = await exported.on(client, { ...keyValues(series), fromMs, toMs, nowMs, graceMs });
  if (row === undefined) {
    const meant = await nearestSeries(client, seriesName(series));
    const remedy = meant === null ? {} : { remedy: `did you mean ${JSON.stringify(meant)}?` };
    throw new TidemarkError('UNKNOWN_SERIES', `${seriesName(series)} was never tracked here`, remedy);
  }
  if (row.range === null) {
    throw new TidemarkError('BAD_ARGUMENT', `no period of ${seriesName(series)} in that range has closed yet`);
  }
  const { range, rejected: _, pending: __, ...stored } = row;
  return { ...stored, series, range, gaps: explainGaps(subtract([range], row.covered), row) };
}

const within = (column: string) => `${column} * tstzmultirange(tstzrange(range_start, range_end))`;

const exported = statement({
  name: 'exported-series',
  isPlannedAnew: true,
  text: `
     with found as (
       select s.*, coalesce(date_bin(s.period, $fromMs, ${gridOrigin}), lower(s.tracked)) as range_start,
              least(coalesce(date_bin(s.period, $toMs + s.period - interval '1 microsecond', ${gridOrigin}),
                             upper(s.tracked)),
                    date_bin(s.period, $nowMs - make_interval(secs => $graceMs / 1000), ${gridOrigin})) as closed_end
       from tidemark.series s
       where ${isSeries}
     ), bounded as (
       -- An open-ended series always has a period that has just closed and is not fetched yet.
       select f.*, greatest(range_start, least(closed_end,
                case when $toMs is null and upper_inf(tracked)
                     then upper(covered * tstzmultirange(tstzrange(range_start, greatest(range_start, closed_end))))
                     end)) as range_end
       from found f
     ), answered as (
       select s.*, ${rejectedPeriods('s.range_start', 's.range_end')} as rejected from bounded s
     )
     select id as "seriesId", case when range_start < range_end then tstzrange(range_start, range_end) end as range,
            tracked,
            -- Where only rejected rows came nothing is stored: whoever imports the file has to ask for it.
            ${within('(covered - rejected)')} as covered, ${within('rejected')} as rejected,
            ${within('confirmed_empty')} as "confirmedEmpty", ${within('before_beginning')} as "beforeBeginning",
            (select coalesce(jsonb_agg(jsonb_build_object(
                      'startMs', ${ms('lower(p.range)')}, 'endMs', ${ms('upper(p.range)')},
                      'cause', p.reason, 'message', p.message, 'source', p.source) order by p.range), '[]')
             from tidemark.pending_windows p
             where p.series_id = b.id and not p.of_covered
               and p.range && tstzrange(b.range_start, b.range_end)) as pending
     from answered b`,
  parameters: { ...keyParameters, fromMs: nullable(time), toMs: nullable(time), nowMs: time, graceMs: float8 },
  row: {
    ...{ seriesId: int4, range: nullable(range), tracked: openRange, covered: ranges, rejected: ranges },
    ...{ confirmedEmpty: ranges, beforeBeginning: ranges },
    pending: jsonb<ReadonlyArray<Range & Parameters<typeof describeReason>[0]>>(),
  },
});

/** Splits the gaps where the reason changes. */
function explainGaps(gaps: readonly Range[], row: RowOf<(typeof exported)['row']>): ExportGap[] {
  const found: ExportGap[] = [];
  let left = gaps;
  const rejected = row.rejected.map((range) => ({ ...range, reason: 'only rejected rows came' }));
  const deferred = row.pending.map((gap) => ({ startMs: gap.startMs, endMs: gap.endMs, reason: describeReason(gap) }));
  for (const { reason, ...waiting } of [...deferred, ...rejected]) {
    found.push(...clip(left, waiting).map((range) => ({ ...range, reason })));
    left = subtract(left, [waiting]);
  }
  const tracked = { startMs: row.tracked.startMs, endMs: row.tracked.endMs ?? Number.POSITIVE_INFINITY };
  found.push(...clip(left, tracked).map((range) => ({ ...range, reason: 'not stored yet' })));
  found.push(...subtract(left, [tracked]).map((range) => ({ ...range, reason: 'not tracked' })));
  return found.sort((a, b) => a.startMs - b.startMs);
}

/** A time as integer milliseconds, as SQL. */
function ms(time: string): string {
  return `(extract(epoch from ${time}) * 1000)::bigint`;
}

/** Exported tables with chunks. */
const exportedTables = [...datasetNames.map((dataset) => datasets[dataset].table), 'rate_points']
  .map((table) => `tidemark.${table}`)
  .join(', ');

/** Compression takes its locks in an order of its own, and ends sooner than these are used up. */
const lockAttempts = 10;

/**
 * Runs `work` in one read-only transaction with a snapshot of its start. It may take any time, between two
 * statements too.
 */
export async function inSnapshot<Result>(
  database: Database,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    let isLocked = false;
    try {
      return await inTransaction(database, async (client) => {
        await client.query('set transaction isolation level repeatable read, read only');
        await disableTimeouts(client);
        await client.query('set local idle_in_transaction_session_timeout = 0');
        // Before the snapshot: compression moves rows to another chunk, where an older snapshot does not see them.
        await client.query(`lock table ${exportedTables} in access share mode`);
        isLocked = true;
        return work(client);
      });
    } catch (error) {
      if (isLocked || attempt === lockAttempts || !isLockWait(error)) throw error;
    }
  }
}
