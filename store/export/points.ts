/** The points of an export, as text: no decimal passes through a JavaScript number. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { timeRanges, timestamp } from '../database.ts';
import { pointColumns, pointTables } from '../point-sql.ts';
import type { ExportedSeries } from './series.ts';
import { pagesOf } from './snapshot.ts';

export type ExportedPoint = [timeMs: EpochMs, ...values: string[]];

/**
 * `$1` series, `$2` and `$3` the range, `$4` the coverage. Points outside of it, such as an open candle, are not final.
 */
const within = 'series_id = $1 and time >= $2 and time < $3 and $4::tstzmultirange @> time';

function bounds({ seriesId, range, covered }: ExportedSeries): unknown[] {
  return [seriesId, timestamp(range.startMs), timestamp(range.endMs), timeRanges(covered)];
}

/** Pages of the covered points of a series, ascending. */
export function exportedPoints(client: pg.PoolClient, of: ExportedSeries): AsyncGenerator<ExportedPoint[]> {
  const { dataset } = of.series;
  return pagesOf<ExportedPoint>(client, {
    text: `select (extract(epoch from time) * 1000)::bigint, ${pointColumns[dataset].join(', ')}
           from tidemark.${pointTables[dataset]} where ${within} order by time`,
    values: bounds(of),
  });
}

export interface ColumnDigits {
  readonly beforePoint: number;
  /** Without zeros at the end. */
  readonly afterPoint: number;
}

export interface ExportSize {
  readonly points: number;
  /** The most that any value has, by column of values. */
  readonly digits: readonly ColumnDigits[];
}

/** How many points an export has, and how many digits. */
export async function sizeOf(client: pg.PoolClient, of: ExportedSeries): Promise<ExportSize> {
  const columns = pointColumns[of.series.dataset];
  return measured(client, columns, {
    text: `tidemark.${pointTables[of.series.dataset]} where ${within}`,
    values: bounds(of),
  });
}

/** @param from what stands behind `from`. */
export async function measured(
  client: pg.PoolClient,
  columns: readonly string[],
  from: { text: string; values: unknown[] },
): Promise<ExportSize> {
  const digits = columns.map(
    (column) =>
      `coalesce(length(trunc(max(abs(${column})))::text), 1), coalesce(max(min_scale(${column})), 0)`,
  );
  const result = await client.query<number[]>({
    text: `select count(*)::int, ${digits.join(', ')} from ${from.text}`,
    values: from.values,
    rowMode: 'array',
  });
  const [points = 0, ...measures] = result.rows[0] ?? [];
  return {
    points,
    digits: columns.map((_, place) => ({
      beforePoint: measures[place * 2] ?? 1,
      afterPoint: measures[place * 2 + 1] ?? 0,
    })),
  };
}

/** The names of a series, in the order of the files' columns. */
export function namesOf(series: SeriesKey): string[] {
  return series.dataset === 'candles'
    ? [series.exchange, series.baseId, series.quoteId, series.interval]
    : [series.assetId, series.interval];
}
