/** Looks at the first rows of a file without a sidecar: what is wrong as a whole is refused, and nothing is stored. */

import { TidemarkError } from '../errors.ts';
import type { FileRow, Layout, Names, ReadRow } from '../files/layout.ts';
import { type RowFile, rowsOf } from '../files/point-pages.ts';
import { counted } from '../model/format.ts';
import { seriesName } from '../model/series.ts';
import type { RejectedRow } from '../planning/answer.ts';
import { pointOf, rateOf, seriesOfRow } from './import-rows.ts';

const looksAt = 1000;

/** @throws TidemarkError FILE_NOT_USABLE when none of the first rows can be read, or each is older than that before. */
export async function assertReadable(path: string, { layout, pages }: RowFile): Promise<void> {
  let [rows, readable, steps, stepsBack] = [0, 0, 0, 0];
  let firstReason: string | null = null;
  let before: Pick<FileRow, 'time' | 'names'> | null = null;
  for await (const page of pages()) {
    for (const row of rowsOf(page).slice(0, looksAt - rows)) {
      rows += 1;
      const { refusal } = readingOf(layout, row);
      firstReason ??= refusal?.reason ?? null;
      if (refusal === null) readable += 1;
      if ('raw' in row) continue;
      if (before !== null && areSame(before.names, row.names)) {
        steps += 1;
        if (Number(row.time) < Number(before.time)) stepsBack += 1;
      }
      before = row;
    }
    if (rows === looksAt) break;
  }
  const refuse = (problem: string, remedy: string) => {
    throw new TidemarkError('FILE_NOT_USABLE', `${path}: ${problem}`, { remedy: `nothing was imported; ${remedy}` });
  };
  if (rows > 0 && readable === 0)
    refuse(`none of its first ${counted(rows, 'row')} can be read, first: ${firstReason}`, 'correct the file');
  if (layout.dataset !== 'rates' && steps > 1 && stepsBack === steps)
    refuse('its rows are in descending order of time', 'write it again, ordered by time within each series');
}

const areSame = (one: Names, other: Names) => one.every((name, place) => name === other[place]);

/** The series of a row, and why it cannot be imported. */
export function readingOf(layout: Layout, row: ReadRow): { name: string | null; refusal: RejectedRow | null } {
  if ('raw' in row) return { name: null, refusal: row };
  if (layout.dataset === 'rates') return { name: row.names[0] ?? null, refusal: rateOf(row).refusal };
  const series = seriesOfRow(layout, row.names);
  if (typeof series === 'string')
    return { name: null, refusal: { raw: JSON.stringify(row), reason: `${row.place}: ${series}` } };
  const read = pointOf(row, series);
  const reason = read.refusal?.reason ?? row.problem;
  const refusal = reason === undefined ? null : { raw: read.raw(), reason: `${row.place}: ${reason}` };
  return { name: seriesName(series), refusal };
}
