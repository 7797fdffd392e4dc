/**
 * Reads COPY's binary format, whose pieces may end anywhere within a tuple.
 *
 * Source: postgresql.org/docs/current/sql-copy.html: a header of 19 bytes, tuples (the count of fields, and each field
 * after its length, which is -1 of null), and -1 in place of a count.
 */

import { int32At, sizeAt } from '../model/binary/numeric.ts';

const headerBytes = 19;

/** Decodes a tuple. @param at where the length of its first field is. @param end of its last field. */
type TakeTuple = (bytes: Buffer, at: number, end: number) => void;

/** Of a piece, to complete the tuple before it: copying the whole would take as long as decoding it. */
const bytesToJoin = 4096;

/** @returns reads a piece, and returns the number of its tuples. */
export function tupleReader(fields: number, take: TakeTuple): (piece: Buffer) => number {
  let rest: Buffer = Buffer.alloc(0);
  let isBegun = false;
  return (piece) => {
    if (!isBegun) {
      rest = Buffer.concat([rest, piece]);
      if (rest.length < headerBytes) return 0;
      isBegun = true;
      piece = rest.subarray(headerBytes);
      rest = Buffer.alloc(0);
    }
    let tuples = 0;
    let at = 0;
    if (rest.length > 0) {
      let joined = Buffer.concat([rest, piece.subarray(0, bytesToJoin)]);
      let end = endOfTuple(joined, 0, fields);
      if (end === null && piece.length > bytesToJoin) {
        joined = Buffer.concat([rest, piece]);
        end = endOfTuple(joined, 0, fields);
      }
      if (end === null) {
        rest = joined;
        return 0;
      }
      take(joined, 2, end);
      tuples = 1;
      at = end - rest.length;
    }
    for (let end = endOfTuple(piece, at, fields); end !== null; end = endOfTuple(piece, at, fields)) {
      take(piece, at + 2, end);
      tuples += 1;
      at = end;
    }
    rest = Buffer.from(piece.subarray(at));
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
