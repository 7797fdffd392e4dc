/** Reads a checked file to its end and reports what is in it, without a database. */

import type { FileRow, Layout, ReadRow } from '../files/layout.ts';
import { timeText } from '../files/layout.ts';
import { type FilePage, isPoints, lengthOf, rowOfPage } from '../files/point-pages.ts';
import { counted } from '../model/format.ts';
import { readingOf } from './first-rows.ts';
import type { CheckedFile, FileCheck } from './import-file.ts';
import { seriesOfRow } from './import-rows.ts';
import { plainPoints } from './plain-points.ts';

/** @throws TidemarkError FILE_NOT_USABLE */
export async function readChecked({ path, tally, beforePiece }: FileCheck, { file, unit }: CheckedFile): Promise<void> {
  const { layout } = file;
  let [rows, first, last]: [number, FileRow | null, FileRow | null] = [0, null, null];
  for await (const page of file.pages()) {
    beforePiece();
    rows += lengthOf(page);
    for (const row of rowsToRead(layout, page)) {
      if (!('raw' in row)) [first, last] = [first ?? row, row];
      const { name, refusal } = readingOf(layout, row);
      if (refusal !== null) tally.refuse(name, [refusal]);
    }
  }
  const times = unit === undefined ? '' : `; its times are ${unit}`;
  const range = first === null || last === null ? '' : `, the first of ${timeOf(first)}, the last of ${timeOf(last)}`;
  tally.note(path, `${counted(rows, 'row')}${range}${times}`);
  if (first === null) return;
  const { values: shown } = first;
  const values = layout.values.map((name, at) => `${name} ${shown[at] ?? null}`);
  tally.note(path, `its first row is read as ${timeOf(first)} ${values.join(', ')}`);
}

/** The rows of a page, of points only the first and the last, and those that may be rejected. */
function* rowsToRead(layout: Layout, page: FilePage): Generator<ReadRow> {
  if (!isPoints(page)) {
    yield* page;
    return;
  }
  const { names, tuples } = page;
  const series = seriesOfRow(layout, names);
  const isPlain = typeof series === 'string' ? () => false : plainPoints(series.dataset, series.interval);
  for (let row = 0; row < tuples.length; row += 1)
    if (row === 0 || row === tuples.length - 1 || !isPlain(tuples, row)) yield rowOfPage(page, row);
}

function timeOf({ time }: FileRow): string {
  return typeof time === 'number' ? timeText(time) : String(time);
}
