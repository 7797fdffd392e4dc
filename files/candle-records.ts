/** Records of candle files: lines of CSV, from either end, or arrays within a JSON array. Memory is bounded. */

import { open } from 'node:fs/promises';
import type { Cells } from './candle-formats.ts';
import { fieldsOf, linesOf, textOf } from './text-formats.ts';

export interface CandleRecord {
  /** Such as `line 12`. */
  readonly place: string;
  readonly cells: Cells;
}

type Bytes = AsyncIterable<Uint8Array>;

/** @throws Error as {@link linesOf} does. */
export async function* csvRecords(bytes: Bytes): AsyncGenerator<CandleRecord[]> {
  let number = 0;
  for await (const lines of linesOf(bytes)) {
    const records: CandleRecord[] = [];
    for (const { text } of lines) {
      number += 1;
      // The last column is unused, so a last line with all columns is whole without its line feed.
      const cells = cellsOf(text);
      if (cells !== null) records.push({ place: `line ${number}`, cells });
    }
    yield records;
  }
}

function cellsOf(text: string): Cells | null {
  const line = text.endsWith('\r') ? text.slice(0, -1) : text;
  return line === '' ? null : (fieldsOf(line) ?? [line]);
}

const pieceBytes = 1 << 18;
const lineFeed = 10;

/** The lines of a CSV file that {@link csvRecords} has read, from the last to the first. */
export async function* csvRecordsBackward(path: string): AsyncGenerator<Cells[]> {
  const file = await open(path);
  try {
    let { size: endAt } = await file.stat();
    let rest = Buffer.alloc(0);
    while (endAt > 0) {
      const startAt = Math.max(0, endAt - pieceBytes);
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(endAt - startAt),
        0,
        endAt - startAt,
        startAt,
      );
      const bytes = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
      // The first line is complete only at the beginning of the file.
      const completeAt = startAt === 0 ? 0 : bytes.indexOf(lineFeed) + 1;
      rest = bytes.subarray(0, completeAt === 0 && startAt > 0 ? bytes.length : completeAt);
      endAt = startAt;
      if (rest.length === bytes.length) continue;
      const lines = bytes.subarray(completeAt).toString('utf8').split('\n').reverse();
      yield lines.map(cellsOf).filter((cells) => cells !== null);
    }
  } finally {
    await file.close();
  }
}

const opening = /\s*\[/y;
const emptyEnd = /\s*\]/y;
const element = /\s*\[([^[\]]*)\]\s*([,\]])/y;
/** An element is shorter, white space included. */
const longestElement = 10_000;

/** Arrays of numbers within one array. Numbers keep their digits. @throws Error when it is something else. */
export async function* jsonRecords(bytes: Bytes): AsyncGenerator<CandleRecord[]> {
  let rest = '';
  let line = 1;
  let row = 0;
  let expects: 'opening' | 'first' | 'element' | 'end' = 'opening';
  const place = () => `line ${line}, row ${row + 1}`;
  for await (const text of textOf(bytes)) {
    rest += text;
    let at = 0;
    const take = (pattern: RegExp) => {
      pattern.lastIndex = at;
      const match = pattern.exec(rest);
      if (match === null) return null;
      at = pattern.lastIndex;
      return match;
    };
    if (expects === 'opening' && take(opening) !== null) expects = 'first';
    if (expects === 'first' && take(emptyEnd) !== null) expects = 'end';
    const records: CandleRecord[] = [];
    let countedTo = 0;
    while (expects === 'first' || expects === 'element') {
      const match = take(element);
      if (match === null) break;
      const [, content = '', next] = match;
      const startAt = at - match[0].trimStart().length;
      line += newLines(rest, countedTo, startAt);
      countedTo = startAt;
      records.push({ place: place(), cells: content.split(',').map(numberText) });
      row += 1;
      expects = next === ',' ? 'element' : 'end';
    }
    line += newLines(rest, countedTo, at);
    yield records;
    rest = rest.slice(at);
    if (expects === 'end' ? rest.trim() !== '' : rest.length > longestElement) break;
  }
  if (expects === 'end' && rest.trim() === '') return;
  line += newLines(rest, 0, rest.length - rest.trimStart().length);
  const what =
    expects === 'end' ? 'text follows the array' : 'not an array of numbers, or the file ends within it';
  throw new Error(`${place()}: ${what}`);
}

function newLines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function numberText(token: string): string | null {
  const text = token.trim();
  if (text === '' || text === 'null') return null;
  return /^".*"$/.test(text) ? text.slice(1, -1) : text;
}
