/** The lines of a text file, with bounded memory. */

import { isUtf8 } from 'node:buffer';
import { FileProblem } from './file-problem.ts';

/** Rows are shorter: names and decimals have at most 200 characters. */
const longestLine = 1_000_000;

export interface Line {
  readonly text: string;
  /** Whether it ends with a line feed. The last line of a truncated file does not. */
  readonly isWhole: boolean;
}

/**
 * @throws FileProblem when it is not UTF-8, or has a line of a million characters; what the reading of `bytes` throws.
 */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line[]> {
  let rest = '';
  for await (const text of textOf(bytes)) {
    const pieces = (rest + text).split('\n');
    rest = pieces.pop() ?? '';
    assertShort(rest.length);
    yield pieces.map((line) => ({ text: line, isWhole: true }));
  }
  if (rest !== '') yield [{ text: rest, isWhole: false }];
}

/** @throws FileProblem when the bytes are not UTF-8. */
export async function* textOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decoded = (piece?: Uint8Array) => {
    try {
      return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
    } catch {
      throw notUtf8();
    }
  };
  for await (const piece of bytes) yield decoded(piece);
  yield decoded();
}

/** Why a line without its line feed is no row. */
export const cutOff = 'the file ends within this row';

function assertShort(length: number): void {
  if (length > longestLine)
    throw new FileProblem(
      'it has a line of more than a million characters',
      'check that it is a text file of the named format',
    );
}

const notUtf8 = () =>
  new FileProblem('it is not UTF-8 text', 'unpack it if it is compressed otherwise, or convert it to UTF-8');

const lineFeed = 10;
const byteOrderMark = Buffer.from('\uFEFF');

/** The bytes of a file in pieces of whole lines. What follows the last line feed is the last piece, and not whole. */
export async function* wholeLines(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  let rest = Buffer.alloc(0);
  let isStart = true;
  for await (const piece of content) {
    let bytes = Buffer.concat([rest, piece]);
    if (isStart && bytes.length < byteOrderMark.length) {
      rest = bytes;
      continue;
    }
    if (isStart && bytes.indexOf(byteOrderMark) === 0) bytes = bytes.subarray(byteOrderMark.length);
    isStart = false;
    const end = bytes.lastIndexOf(lineFeed) + 1;
    rest = bytes.subarray(end);
    assertShort(rest.length);
    if (end > 0) yield { bytes: bytes.subarray(0, end), isWhole: true };
  }
  if (rest.length > 0) yield { bytes: rest, isWhole: false };
}

/** The line that starts here, and where the next one does. @throws FileProblem when it is not UTF-8. */
export function textAt(bytes: Buffer, from: number): { readonly text: string; readonly next: number } {
  const found = bytes.indexOf(lineFeed, from);
  const end = found === -1 ? bytes.length : found;
  const text = bytes.toString('utf8', from, end);
  if (text.includes('\uFFFD') && !isUtf8(bytes.subarray(from, end))) throw notUtf8();
  return { text, next: end + 1 };
}
