/** Checks a candle file of another program. Its format says what it covers, as a sidecar does for an exported file. */

import { TidemarkError } from '../errors.ts';
import { openCandleFile } from '../files/candle-file.ts';
import type { CandleFormat, CandleFormatName } from '../files/candle-formats.ts';
import { usable } from '../files/formats.ts';
import { assertChecksum, assertIsFile, stampOf } from '../files/sidecar.ts';
import { formatTime } from '../model/format.ts';
import { intervalMs } from '../model/intervals.ts';
import type { CandleSeries } from '../model/series.ts';
import type { CheckedFile, FileCheck } from './import-file.ts';

/** What the user says about the files: they name no series themselves. */
export interface CandleFileKind {
  readonly format: CandleFormatName | CandleFormat;
  readonly series: CandleSeries;
}

/** @throws TidemarkError FILE_NOT_USABLE with the line, when the file breaks a rule of its format. */
export async function checkCandleFile(
  { path, pointsOnly = false, beforePiece, tally, clock }: FileCheck,
  { format, series }: CandleFileKind,
): Promise<CheckedFile> {
  await assertIsFile(path);
  const stamp = await stampOf(path);
  await assertChecksum(path, beforePiece);
  const { rows, covered, market, notes, unit, isNewestOpen, ...file } = await usable(
    path,
    () => openCandleFile(path, { format, series, beforePage: beforePiece }),
    'nothing was imported; ',
  );
  for (const note of notes) tally.note(path, note);
  const [first, last] = [covered[0], covered.at(-1)];
  if (first === undefined || last === undefined)
    throw new TidemarkError('FILE_NOT_USABLE', `${path}: its only row may have been open when the file was made`, {
      remedy: 'nothing was imported; leave this file out',
    });
  const newestMs = last.endMs - intervalMs[series.interval];
  if (newestMs > clock.now())
    throw new TidemarkError('FILE_NOT_USABLE', `${path}: its row of ${formatTime(newestMs)} lies in the future`, {
      remedy: 'nothing was imported; check the unit of its times, and the clock of this machine',
    });
  if (pointsOnly) return { file, stated: null, stamp, market, unit };
  const range = { startMs: first.startMs, endMs: last.endMs };
  const stated = {
    range,
    points: isNewestOpen ? rows - 1 : rows,
    covered,
    confirmedEmpty: [],
    beforeBeginning: [],
    trackToMs: range.endMs,
  };
  const { exchange, baseId, quoteId, interval } = series;
  return {
    file,
    stated: { series: [{ series, names: [exchange, baseId, quoteId, interval], stated }], rows },
    stamp,
    market,
    unit,
  };
}

/**
 * All files of a call are of one series, and a file need not state its market.
 *
 * @throws TidemarkError FILE_NOT_USABLE when two files state different ones.
 */
export function assertOneMarket(files: readonly { path: string; market: string | null }[]): void {
  const stated = files.filter(({ market }) => market !== null);
  const [first] = stated;
  const other = stated.find(({ market }) => market !== first?.market);
  if (first === undefined || other === undefined) return;
  throw new TidemarkError(
    'FILE_NOT_USABLE',
    `${other.path} is of ${other.market}, and ${first.path} of ${first.market}`,
    { remedy: 'nothing was imported; import the files of each market in a call of their own' },
  );
}
