/** Points in the form of the interface, and as an answer holds them. */

import { type DatasetName, datasets } from '../../model/datasets/index.ts';
import { linesOf, type Point, type PointLines, pointAt, pointObject } from '../../model/point-lines.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';

export function pointOf(dataset: DatasetName, row: object): Point {
  const { columns, timeField } = datasets[dataset];
  const fields = row as Readonly<Record<string, never>>;
  return { timeMs: fields[timeField] ?? Number.NaN, values: columns.map(({ json }) => fields[json] ?? null) };
}

export function pointLinesOf(dataset: DatasetName, rows: readonly object[]): PointLines {
  return linesOf(
    dataset,
    rows.map((row) => pointOf(dataset, row)),
  );
}

function objectsOf(lines: PointLines): unknown[] {
  return lines.timesMs.map((_, place) => pointObject(lines.dataset, pointAt(lines, place)));
}

export const candlesOf = (lines: PointLines) => objectsOf(lines) as Candle[];
export const historyOf = (lines: PointLines) => objectsOf(lines) as HistoryPoint[];
