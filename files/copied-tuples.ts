/**
 * Reads COPY's binary format, whose pieces may end anywhere within a tuple.
 *
 * Source: postgresql.org/docs/current/sql-copy.html: a header of 19 bytes, tuples (the count of fields, and each field
 * after its length, which is -1 of null), and -1 in place of a count.
 */

import { int32At, sizeAt } from '../model/binary/numeric.ts';

const headerBytes = 19;

/** Decodes a tuple. @param at where the length of its first field is. */
export type TakeTuple = (bytes: Buffer, at: number) => void;

/** @returns reads a piece, and returns the number of its tuples. */
export function tupleReader(fields: number, take: TakeTuple): (piece: Buffer) => number {
  let rest: Buffer = Buffer.alloc(0);
  let isBegun = false;
  return (piece) => {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    let tuples = 0;
    if (!isBegun && bytes.length >= headerBytes) {
      isBegun = true;
      at = headerBytes;
    }
    while (isBegun) {
      const end = endOfTuple(bytes, at, fields);
      if (end === null) break;
      take(bytes, at + 2);
      tuples += 1;
      at = end;
    }
    rest = bytes.subarray(at);
    return tuples;
  };
}

/** Null: it is not complete, or it is the end of all tuples. */
function endOfTuple(bytes: Buffer, from: number, fields: number): number | null {
  let at = from + 2;
  for (let field = 0; field < fields; field += 1) {
    if (at + 4 > bytes.length) return null;
    at += sizeAt(bytes, at);
  }
  return at > bytes.length ? null : at;
}

const year2000Ms = Date.UTC(2000, 0, 1);

/** A `timestamptz`, which are microseconds since 2000, as milliseconds since 1970. */
export function timeAt(bytes: Uint8Array, at: number): number {
  const microseconds = int32At(bytes, at) * 0x1_0000_0000 + (int32At(bytes, at + 4) >>> 0);
  return year2000Ms + Math.round(microseconds / 1000);
}
