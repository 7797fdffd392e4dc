/**
 * Reads points from the bytes of an answer or a file: in a fraction of the time of a pattern, and without an object for
 * each. Their decimals have the form that sources use: without sign, exponent or leading zeros. The caller reads any
 * other row by JSON or a schema.
 */

import { byDataset, type DatasetName } from '../model/datasets/index.ts';
import { type DecimalText, longestDecimal } from '../model/decimal.ts';
import type { EpochMs, Interval } from '../model/intervals.ts';
import { collectPoints, type Point, type PointLines } from '../model/point-lines.ts';
import { impossible, isOnGridOf, isZero, orders } from './rows.ts';

const [quote, comma, point, zero, nine, bracket, brace] = [34, 44, 46, 48, 57, 93, 125] as const;

/** Where the decimals of a row are, by column. */
export interface Places {
  /** -1: there is none. */
  readonly starts: Int32Array;
  /** Ends of the whole digits. */
  readonly points: Int32Array;
  readonly ends: Int32Array;
}

export const newPlaces = (columns: number): Places => ({
  starts: new Int32Array(columns),
  points: new Int32Array(columns),
  ends: new Int32Array(columns),
});

/** The decimal of a column. */
export function decimalAt(bytes: Buffer, { starts, ends }: Places, column: number): DecimalText {
  return bytes.toString('latin1', starts[column], ends[column]) as DecimalText;
}

/**
 * Notes the places of the decimal that starts here.
 *
 * @returns where it ends; -1 if none of the plain form starts here.
 */
export function scanDecimal(bytes: Buffer, from: number, row: Places, column: number): number {
  let at = from;
  let byte = bytes[at] ?? 0;
  while (byte >= zero && byte <= nine) byte = bytes[++at] ?? 0;
  const whole = at - from;
  if (whole === 0 || (whole > 1 && bytes[from] === zero)) return -1;
  row.starts[column] = from;
  row.points[column] = at;
  if (byte === point) {
    const fraction = ++at;
    byte = bytes[at] ?? 0;
    while (byte >= zero && byte <= nine) byte = bytes[++at] ?? 0;
    if (at === fraction) return -1;
  }
  row.ends[column] = at;
  return at - from > longestDecimal ? -1 : at;
}

/** Whether the decimals are possible for a point. False decides nothing: trailing zeros are not compared. */
export const arePossible = byDataset(({ areZerosUnknown }, name) => {
  const all = orders[name];
  const isOrdered = (smaller: number, larger: number) => all.some(([a, b]) => a === smaller && b === larger);
  // An order that follows from two others needs no comparison.
  const needed = all.filter(([a, b]) => !all.some(([smaller, middle]) => smaller === a && isOrdered(middle, b)));
  const smaller = Int32Array.from(needed, ([column]) => column);
  const larger = Int32Array.from(needed, ([, column]) => column);
  return (bytes: Buffer, row: Places): boolean => {
    if (areZerosUnknown && (bytes[row.starts[0] ?? 0] ?? zero) === zero) return false;
    for (let order = 0; order < smaller.length; order += 1)
      if (!isAtMost(bytes, row, smaller[order] ?? 0, larger[order] ?? 0)) return false;
    return true;
  };
});

/** Whether column `a` is at most column `b`, as text. */
function isAtMost(bytes: Buffer, { starts, points, ends }: Places, a: number, b: number): boolean {
  let at = starts[a] ?? 0;
  let beside = starts[b] ?? 0;
  if (at < 0 || beside < 0) return true;
  const longer = (points[b] ?? 0) - beside - ((points[a] ?? 0) - at);
  if (longer !== 0) return longer > 0;
  const end = ends[a] ?? 0;
  const endBeside = ends[b] ?? 0;
  for (; at < end; at += 1, beside += 1) {
    if (beside >= endBeside) return false;
    const difference = (bytes[beside] ?? 0) - (bytes[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

const head = Buffer.from('{"data":[');
const tail = /^,"timestamp":(0|[1-9]\d{0,14})\}[ \t\r\n]*$/;
/** A time as text is a safe integer. */
const longestTime = 15;

/**
 * The form in which sources of the interface send points: its fields in order, without white space, decimals as text.
 */
const forms = byDataset(({ columns, timeField }) => {
  const keys = columns.map(({ json }, column) => `${column === 0 ? '{' : ','}"${json}":`);
  return {
    /** What stands before each decimal. */
    keys: keys.map((key) => Buffer.from(`${key}"`)),
    /** In place of a decimal; null: the column has one always. */
    nulls: columns.map(({ isOptional }, column) => (isOptional ? Buffer.from(`${keys[column]}null`) : null)),
    neverZero: columns.map(({ isZeroUnknown }) => isZeroUnknown),
    timeKey: Buffer.from(`,"${timeField}":`),
    /** Bytes of a row at least. */
    shortest: keys.join('').length + columns.length * 3 + timeField.length + 5,
  };
});

export interface ScannedPoints {
  readonly rows: PointLines;
  /** Points that no market can have, with the reason. */
  readonly impossible: ReadonlyArray<{ readonly point: Point; readonly reason: string }>;
  readonly sourceTimeMs: EpochMs;
}

/**
 * Reads an answer of the usual form in a third of the time of parsing its JSON alone.
 *
 * @returns null if the body has another form. It may still be valid.
 */
export function scanPoints(body: Buffer, dataset: DatasetName, interval: Interval): ScannedPoints | null {
  if (!startsAt(body, 0, head)) return null;
  const { keys, nulls, neverZero, timeKey, shortest } = forms[dataset];
  const isPossible = arePossible[dataset];
  const rows = collectPoints(dataset, body, Math.ceil(body.length / shortest));
  const row = newPlaces(keys.length);
  const refused: Array<ScannedPoints['impossible'][number]> = [];
  let at = head.length;
  for (;;) {
    for (let column = 0; column < keys.length; column += 1) {
      const key = keys[column] ?? head;
      if (startsAt(body, at, key)) {
        at = scanDecimal(body, at + key.length, row, column);
        if (at < 0 || body[at] !== quote) return null;
        at += 1;
        if (neverZero[column] && isZero(decimalAt(body, row, column))) return null;
        continue;
      }
      const none = nulls[column] ?? null;
      if (none === null) return null;
      if (startsAt(body, at, none)) at += none.length;
      row.starts[column] = -1;
    }
    if (!startsAt(body, at, timeKey)) return null;
    at += timeKey.length;
    const start = at;
    let timeMs = 0;
    for (let byte = body[at] ?? 0; byte >= zero && byte <= nine; byte = body[++at] ?? 0)
      timeMs = timeMs * 10 + byte - zero;
    const digits = at - start;
    const isTime = digits > 0 && digits <= longestTime && (digits === 1 || body[start] !== zero);
    if (!isTime || body[at] !== brace) return null;
    if (isOnGridOf(dataset, timeMs, interval) && isPossible(body, row)) rows.keep(timeMs, row.starts);
    else {
      const values = keys.map((_, column) => ((row.starts[column] ?? -1) < 0 ? null : decimalAt(body, row, column)));
      const reason = impossible(dataset, interval, { timeMs, values });
      if (reason === null) rows.keep(timeMs, row.starts);
      else refused.push({ point: { timeMs, values }, reason });
    }
    const end = body[at + 1];
    at += 2;
    if (end === bracket) break;
    if (end !== comma) return null;
  }
  const timestamp = tail.exec(body.toString('latin1', at))?.[1];
  return timestamp === undefined ? null : { rows: rows.end(), impossible: refused, sourceTimeMs: Number(timestamp) };
}

function startsAt(bytes: Buffer, at: number, key: Buffer): boolean {
  for (let place = 0; place < key.length; place += 1) if (bytes[at + place] !== key[place]) return false;
  return true;
}
