/** Points in COPY's binary format, which costs the server a quarter less than text. */

import { longestNumeric, sizeAt, writeDecimal, writeNull, writeNumeric } from '../../model/binary/numeric.ts';
import { setSeries, type TupleRun, tupleHead, writeTupleHead } from '../../model/binary/tuples.ts';
import type { DecimalText } from '../../model/decimal.ts';
import { isSeparator, type PointLines } from '../../model/point-lines.ts';

/** `PGCOPY`, no flags, no extension. */
const copyHeader = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const trailer = Buffer.from([0xff, 0xff]);

const pieceBytes = 1 << 17;
const [smallE, largeE] = [101, 69] as const;

export interface SeriesLines {
  readonly seriesId: number;
  readonly points: Pick<PointLines, 'timesMs' | 'text' | 'at'>;
}

/**
 * The data of `copy TABLE (series_id, time, ...) from stdin (format binary)`, in pieces.
 *
 * @param columns decimals of a row.
 */
export function* binaryCopy(all: readonly SeriesLines[], columns: number): Generator<Buffer> {
  const longest = tupleHead + columns * longestNumeric;
  const rows = all.reduce((sum, { points }) => sum + points.timesMs.length, 0);
  const size = Math.min(pieceBytes, copyHeader.length + rows * longest + trailer.length);
  let piece = Buffer.allocUnsafe(size);
  let length = copyHeader.copy(piece);
  for (const { seriesId, points } of all) {
    const { timesMs } = points;
    for (let place = 0; place < timesMs.length; place += 1) {
      if (length + longest + trailer.length > size) {
        yield piece.subarray(0, length);
        piece = Buffer.allocUnsafe(size);
        length = 0;
      }
      length = writeTupleHead(piece, length, { columns, seriesId, timeMs: timesMs[place] ?? Number.NaN });
      length = writeValues(points, place * columns, columns, piece, length);
      if (length > size) throw new RangeError('a decimal is too long');
    }
  }
  length += trailer.copy(piece, length);
  yield piece.subarray(0, length);
}

/** The same of tuples, which get the series. */
export function* tupleCopy(runs: readonly TupleRun[], seriesId: number): Generator<Buffer> {
  yield copyHeader;
  for (const run of runs) {
    setSeries(run, seriesId);
    yield run.tuples.bytes.subarray(run.tuples.at[run.from], run.tuples.at[run.to]);
  }
  yield trailer;
}

/** Writes the values whose places begin at `from`. @returns where the tuple ends. */
function writeValues(
  { text, at }: SeriesLines['points'],
  from: number,
  columns: number,
  tuples: Buffer,
  to: number,
): number {
  let length = to;
  for (let column = from; column < from + columns; column += 1) {
    const place = at[column] ?? -1;
    if (place < 0) {
      length = writeNull(tuples, length);
      continue;
    }
    writeValue(text, place, tuples, length);
    length += sizeAt(tuples, length);
  }
  return length;
}

/** Writes the decimal that starts at `from`. Sources may write `1.2e-7`. */
function writeValue(text: Buffer, from: number, tuples: Buffer, to: number): void {
  let end = writeNumeric(text, from, tuples, to);
  if (text[end] !== smallE && text[end] !== largeE) return;
  while (end < text.length && !isSeparator(text[end])) end += 1;
  writeDecimal(text.toString('latin1', from, end) as DecimalText, tuples, to);
}
