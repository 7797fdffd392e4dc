/** Records of candle files: lines of CSV, from either end, or arrays within a JSON array. Memory is bounded. */

import type { Cells } from './candle-formats.ts';
import { openContent } from './content.ts';
import { fieldsOf, type Separator, separators } from './csv-fields.ts';
import { downloadAgain, FileProblem } from './file-problem.ts';
import { linesOf, textAt, textOf, wholeLines } from './lines.ts';

export interface CandleRecord {
  /** Such as `line 12`. */
  readonly place: string;
  readonly cells: Cells;
  /** The last line of CSV has no line end: the file may end within its last field. */
  readonly mayBeCut?: boolean;
}

type Bytes = AsyncIterable<Uint8Array>;

/**
 * That of the first line with several of one, of equally many the first of {@link separators}; else a comma.
 *
 * @throws Error as {@link linesOf} does.
 */
export async function separatorIn(bytes: Bytes): Promise<Separator> {
  for await (const lines of linesOf(bytes)) {
    for (const { text } of lines) {
      const counts = separators.map((separator) => ({ separator, count: text.split(separator).length }));
      const [most] = counts.sort((one, other) => other.count - one.count);
      if (most !== undefined && most.count > 3) return most.separator;
    }
    break;
  }
  return ',';
}

/** How the lines of a CSV file are read. */
export interface LineReader {
  /**
   * Reads the line that starts here from its bytes.
   *
   * @param line its number. @returns where the next one starts; -1: it is to be read as a record.
   */
  readLine(bytes: Buffer, at: number, line: number): number;
  readRecord(record: CandleRecord): void;
}

/** Reads a CSV file, and yields after each piece. @returns its lines. @throws Error as {@link wholeLines} does. */
export async function* readLines(
  bytes: Bytes,
  separator: Separator,
  { readLine, readRecord }: LineReader,
): AsyncGenerator<void, number> {
  let line = 0;
  for await (const piece of wholeLines(bytes)) {
    for (let at = 0; at < piece.bytes.length; ) {
      line += 1;
      const end = piece.isWhole ? readLine(piece.bytes, at, line) : -1;
      if (end >= 0) {
        at = end;
        continue;
      }
      const { text, next } = textAt(piece.bytes, at);
      const cells = cellsOf(text, separator);
      if (cells !== null) readRecord({ place: placeOf(line), cells, ...(!piece.isWhole && { mayBeCut: true }) });
      at = next;
    }
    yield;
  }
  return line;
}

const placeOf = (line: number) => `line ${line}`;

export function cellsOf(text: string, separator: Separator): Cells | null {
  const line = text.endsWith('\r') ? text.slice(0, -1) : text;
  // Blanks around fields are no part of them.
  return line === '' ? null : (fieldsOf(line, separator) ?? [line]).map((field) => field?.trim() || null);
}

const pieceBytes = 1 << 18;
const lineFeed = 10;

/** The lines of a CSV file that {@link readLines} has read, from the last to the first. @param count of its lines. */
export async function* csvRecordsBackward(
  path: string,
  count: number,
  separator: Separator,
): AsyncGenerator<CandleRecord[]> {
  let number: number | null = null;
  const file = await openContent(path, 'csv');
  try {
    let endAt = file.size;
    let rest = Buffer.alloc(0);
    while (endAt > 0) {
      const startAt = Math.max(0, endAt - pieceBytes);
      const bytes = Buffer.concat([await file.read(startAt, endAt), rest]);
      // The first line is complete only at the beginning of the file.
      const completeAt = startAt === 0 ? 0 : bytes.indexOf(lineFeed) + 1;
      rest = bytes.subarray(0, completeAt === 0 && startAt > 0 ? bytes.length : completeAt);
      endAt = startAt;
      if (rest.length === bytes.length) continue;
      const lines = bytes.subarray(completeAt).toString('utf8').split('\n').reverse();
      // Nothing follows the last line feed.
      number ??= lines[0] === '' ? count + 1 : count;
      const last: number = number;
      yield lines.flatMap((text, place) => {
        const cells = cellsOf(text, separator);
        return cells === null ? [] : [{ place: placeOf(last - place), cells }];
      });
      number -= lines.length;
    }
  } finally {
    await file.close();
  }
}

const opening = /\s*\[/y;
const emptyEnd = /\s*\]/y;
const element = /\s*\[([^[\]]*)\]\s*([,\]])/y;
/** Of an element, or nothing. */
const beginning = /^\s*(?:\[[^[\]{}]*\]?\s*)?$/;
/** An element is shorter, white space included. */
const longestElement = 10_000;

/** Arrays of numbers within one array. Numbers keep their digits. @throws FileProblem when it is something else. */
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
  // Read to the end of the file, where the remainder is short.
  const isWithin = expects === 'first' || expects === 'element';
  if (isWithin && rest.length <= longestElement && beginning.test(rest))
    throw new FileProblem(`${place()}: the file ends within this row, or before it`, downloadAgain);
  const what = expects === 'end' ? 'text follows the array' : 'not an array of numbers';
  throw new FileProblem(`${place()}: ${what}`, `check --format, or ${downloadAgain}`);
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
