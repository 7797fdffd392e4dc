/**
 * Whether the rows of a file are those that its sidecar counts, before anything of it is stored.
 *
 * The SHA-256 says only that nobody touched the file since the sidecar was written about it. A program that changed
 * both may have left rows out, and a period in the coverage without a row is known to have none: so a row that is not
 * there would become a fact. Counted is as `seriesSink` stores: rows of a series that lie apart from it are not its.
 */

import type { EpochMs } from '../contract/intervals.ts';
import { seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import type { Names } from '../files/layout.ts';
import type { RowFile } from '../files/row-reader.ts';
import type { Sidecar } from '../files/sidecar.ts';
import { objectionTo, type Stated, type StatedSeries } from './import-stated.ts';
import { count, counted } from './wording.ts';

export interface CountedSeries extends StatedSeries {
  /** Whether one of its rows is of no time that it may have, and so perhaps stands where another is missing. */
  readonly isDoubtful: boolean;
}

interface Line {
  readonly name: string;
  readonly points: number;
  /** Null: of rates, which have no coverage. */
  readonly stated: Stated | null;
  rows: number;
  lastMs: EpochMs;
  isDoubtful: boolean;
}

/**
 * @param path of the file, for what is said about it. @param onRows is told how many rows were read; what it throws
 * ends the count.
 * @throws TidemarkError FILE_NOT_USABLE when the sidecar counts others, in all or of a series.
 */
export async function countRows(
  path: string,
  about: { file: RowFile; sidecar: Sidecar; stated: readonly StatedSeries[] },
  onRows: (rows: number) => void,
): Promise<CountedSeries[]> {
  const { file, sidecar, stated } = about;
  const lines = linesOf(sidecar, stated);
  const isOfRates = file.layout.dataset === 'rates';
  let key = '';
  let line: Line | undefined;
  let all = 0;
  for await (const page of file.pages()) {
    for (const row of page) {
      if ('raw' in row) continue;
      const its = keyOf(isOfRates ? row.names.slice(0, 1) : row.names);
      if (line === undefined || its !== key) {
        const other = lines.get(its);
        if (other === undefined || (other.rows > 0 && !isOfRates)) continue;
        key = its;
        line = other;
      }
      line.rows += 1;
      if (line.stated === null) continue;
      if (objectionTo(row.time, line.lastMs, line.stated) !== null) line.isDoubtful = true;
      else line.lastMs = Number(row.time);
    }
    all += page.length;
    onRows(all);
  }
  assertCounted(path, all, sidecar.file.rows, [...lines.values()]);
  return stated.map((one) => ({ ...one, isDoubtful: lines.get(keyOf(one.names))?.isDoubtful === true }));
}

function linesOf(sidecar: Sidecar, stated: readonly StatedSeries[]): Map<string, Line> {
  const none = { rows: 0, lastMs: Number.NEGATIVE_INFINITY, isDoubtful: false };
  if (sidecar.dataset !== 'rates') {
    return new Map(
      stated.map(({ series, names, stated: one }) => [
        keyOf(names),
        { ...none, name: seriesName(series), points: one.points, stated: one },
      ]),
    );
  }
  return new Map(
    sidecar.series.map(({ currency, points }) => [
      keyOf([currency]),
      { ...none, name: currency, points, stated: null },
    ]),
  );
}

function assertCounted(path: string, rows: number, statedRows: number, lines: readonly Line[]): void {
  const other = lines.find((line) => line.rows !== line.points);
  const named = lines.reduce((sum, line) => sum + line.rows, 0);
  let what: string;
  if (other !== undefined) {
    what = `${counted(other.rows, 'row')} of ${other.name}, and its sidecar states ${count(other.points)}`;
  } else if (named !== rows) {
    what = `${counted(rows - named, 'row')} of no series that its sidecar states`;
  } else if (rows !== statedRows) {
    what = `${counted(rows, 'row')}, and its sidecar states ${count(statedRows)}`;
  } else {
    return;
  }
  throw new TidemarkError('FILE_NOT_USABLE', `${path} has ${what}`, {
    remedy: 'export it anew, or import it with --points-only: no coverage is claimed then',
  });
}

function keyOf(names: Names): string {
  return JSON.stringify(names);
}
