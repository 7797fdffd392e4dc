/** The Parquet file of a month of a series, in memory: at most 44,640 rows. */

import { createHash } from 'node:crypto';
import type pg from 'pg';
import { openRows } from '../../files/formats.ts';
import { layouts, type Point, timeText } from '../../files/layout.ts';
import { type Digits, maxDigits, parquetWriter } from '../../files/parquet-writer.ts';
import { rowsOf } from '../../files/point-pages.ts';
import type { DatasetName } from '../../model/datasets/index.ts';
import type { Range } from '../../model/ranges.ts';
import { keyOf } from '../../model/series.ts';
import { readExportPages, selectPoints } from '../queries/export-points.ts';
import type { WantedMonth } from './changes.ts';
import type { LakeFormat } from './manifest.ts';
import type { SeriesState } from './series-states.ts';

export type MonthFile =
  | { readonly kind: 'empty' }
  /** A value that the type of the lake cannot hold exactly. */
  | { readonly kind: 'refused'; readonly rows: number; readonly reason: string }
  | { readonly kind: 'file'; readonly rows: number; readonly sha256: string; readonly content: Buffer };

/**
 * Reads the points of a month and encodes them.
 *
 * @param previous the present file; null: there is none. What the store has dropped is taken from it.
 * @throws TidemarkError FILE_NOT_USABLE when that file cannot be read.
 */
export async function readMonthFile(
  client: pg.PoolClient,
  { seriesId, series }: SeriesState,
  { range, covered, carried }: WantedMonth,
  format: LakeFormat & { readonly previous: string | null },
): Promise<MonthFile> {
  const layout = layouts[series.dataset];
  const points = format.previous === null ? [] : await readPoints(format.previous, series.dataset, carried);
  for await (const page of readExportPages(client, selectPoints({ seriesId, series, range, covered })))
    for (const [timeMs, ...values] of page) points.push({ timeMs, values });
  const rows = points.length;
  if (rows === 0) return { kind: 'empty' };
  const reason = findMisfit(points, layout.values, format);
  if (reason !== null) return { kind: 'refused', rows, reason };
  const pieces: Uint8Array[] = [];
  const output = { write: async (piece: Uint8Array) => void pieces.push(piece) };
  const digits = layout.values.map(() => digitsOf(format));
  const writer = await parquetWriter(layout, digits, output, format.doubles);
  await writer.write({ names: keyOf(series), points });
  await writer.end();
  const content = Buffer.concat(pieces);
  return { kind: 'file', rows, content, sha256: createHash('sha256').update(content).digest('hex') };
}

/** Points of a file of the lake within the ranges. */
async function readPoints(path: string, dataset: DatasetName, ranges: readonly Range[]): Promise<Point[]> {
  if (ranges.length === 0) return [];
  const points: Point[] = [];
  for await (const page of (await openRows(path, 'parquet', dataset)).pages()) {
    for (const row of rowsOf(page)) {
      if (!('time' in row) || typeof row.time !== 'number') continue;
      const { time: timeMs } = row;
      if (ranges.some(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs))
        points.push({ timeMs, values: row.values });
    }
  }
  return points;
}

/** All files have the same type: readers of many take that of one, and would round to it. */
function digitsOf({ decimals }: LakeFormat): Digits {
  return decimals === 'text'
    ? { beforePoint: maxDigits + 1, afterPoint: 0 }
    : { beforePoint: maxDigits - decimals, afterPoint: decimals };
}

/** Explains the first value that does not fit; null: all fit. */
function findMisfit(
  points: readonly Point[],
  names: readonly string[],
  { decimals, doubles }: LakeFormat,
): string | null {
  for (const { timeMs, values } of points) {
    for (const [place, value] of values.entries()) {
      if (value === null) continue;
      const what = `${names[place]} of ${timeText(timeMs)}`;
      if (doubles && !Number.isFinite(Number(value))) return `${what} is too large for a double`;
      if (decimals === 'text') continue;
      const [, whole = '', fraction = ''] = /^-?0*(\d*)(?:\.(\d*?)0*)?$/.exec(value) ?? [];
      const type = `DECIMAL(${maxDigits}, ${decimals})`;
      if (fraction.length > decimals)
        return `${what} has ${fraction.length} fraction digits; ${type} holds ${decimals}`;
      if (whole.length > maxDigits - decimals)
        return `${what} has ${whole.length} digits before the point; ${type} holds ${maxDigits - decimals}`;
    }
  }
  return null;
}
