/**
 * Points as the tuples of COPY's binary form, one after the other: files are read into them, and the database takes and
 * gives them. Tens of thousands of points are three arrays, and equal bytes are equal points.
 *
 * A tuple has the number of its fields, the series and the time, each of the latter with its length before it, and then
 * the values by column (`numeric.ts`).
 *
 * Source: postgresql.org/docs/current/sql-copy.html, and `timestamptz_recv` in src/backend/utils/adt/timestamp.c
 * (microseconds since 2000).
 */

import type { DecimalText } from '../decimal.ts';
import type { EpochMs } from '../intervals.ts';
import type { Point } from '../point-lines.ts';
import { numericText, sizeAt } from './numeric.ts';

export interface Tuples {
  readonly length: number;
  readonly timesMs: Float64Array;
  readonly bytes: Buffer;
  /** Where each tuple starts, and where the last one ends. */
  readonly at: Int32Array;
}

/** Some of them, adjacent. */
export interface TupleRun {
  readonly tuples: Tuples;
  readonly from: number;
  /** Excluded. */
  readonly to: number;
}

const year2000Ms = Date.UTC(2000, 0, 1);
const highUnit = 2 ** 32;
/** Field count, series with its length, length of the time, time. */
export const tupleHead = 2 + 8 + 4 + 8;
const [seriesAt, timeAt] = [6, 14] as const;

/** Writes what stands before the values. @returns where they begin. */
export function writeTupleHead(
  bytes: Uint8Array,
  at: number,
  head: { columns: number; seriesId: number; timeMs: EpochMs },
): number {
  const { columns, seriesId, timeMs } = head;
  const microseconds = (timeMs - year2000Ms) * 1000;
  const high = Math.floor(microseconds / highUnit);
  bytes[at] = 0;
  bytes[at + 1] = columns + 2;
  writeInt32(bytes, at + 2, 4);
  writeInt32(bytes, at + seriesAt, seriesId);
  writeInt32(bytes, at + 10, 8);
  writeInt32(bytes, at + timeAt, high);
  writeInt32(bytes, at + timeAt + 4, microseconds - high * highUnit);
  return at + tupleHead;
}

function writeInt32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** The time of a tuple that starts here. */
export function timeAtTuple(bytes: Buffer, at: number): EpochMs {
  return (bytes.readInt32BE(at + timeAt) * highUnit + bytes.readUInt32BE(at + timeAt + 4)) / 1000 + year2000Ms;
}

export function setSeries({ tuples: { bytes, at }, from, to }: TupleRun, seriesId: number): void {
  for (let row = from; row < to; row += 1) writeInt32(bytes, (at[row] ?? 0) + seriesAt, seriesId);
}

/** The values of a tuple as text, by column. */
export function valuesOf({ bytes, at }: Tuples, row: number): Array<DecimalText | null> {
  const values: Array<DecimalText | null> = [];
  for (let place = (at[row] ?? 0) + tupleHead; place < (at[row + 1] ?? 0); place += sizeAt(bytes, place))
    values.push(numericText(bytes, place) as DecimalText | null);
  return values;
}

export function pointOfTuple(tuples: Tuples, row: number): Point {
  return { timeMs: tuples.timesMs[row] ?? Number.NaN, values: valuesOf(tuples, row) };
}
