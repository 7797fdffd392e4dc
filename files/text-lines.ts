/** Reads the lines of a UTF-8 file with bounded memory. */

import { createReadStream } from 'node:fs';

/** Rows are shorter: names and decimals have at most 200 characters. */
const longestLine = 1_000_000;

export interface Line {
  readonly text: string;
  /** Whether it ends with a line feed. The last line of a truncated file does not. */
  readonly isWhole: boolean;
}

/** @throws Error when the file cannot be read, is not UTF-8, or has a line of a million characters. */
export async function* linesOf(path: string): AsyncGenerator<Line[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  const decoded = (bytes?: Buffer) => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw new Error('it is not UTF-8 text');
    }
  };
  for await (const bytes of createReadStream(path, { highWaterMark: 1 << 18 })) {
    const pieces = (rest + decoded(bytes as Buffer)).split('\n');
    rest = pieces.pop() ?? '';
    if (rest.length > longestLine) throw new Error('it has a line of more than a million characters');
    yield pieces.map((text) => ({ text, isWhole: true }));
  }
  rest += decoded();
  if (rest !== '') yield [{ text: rest, isWhole: false }];
}

export const cutOff = 'the file ends within this row';
