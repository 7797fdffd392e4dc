/** The lines of a file of UTF-8, with bounded memory. */

import { createReadStream } from 'node:fs';

/** No row has more: names have 200 characters, decimals too. */
const longestLine = 1_000_000;

export interface Line {
  readonly text: string;
  /** Whether a line feed ended it. The last line of a file that was cut off has none. */
  readonly isWhole: boolean;
}

/** @throws Error when the file cannot be read, is no UTF-8, or has a line without end. */
export async function* linesOf(path: string): AsyncGenerator<Line[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  const decoded = (bytes?: Buffer) => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw new Error('it is no text in UTF-8');
    }
  };
  for await (const bytes of createReadStream(path, { highWaterMark: 1 << 18 })) {
    const pieces = (rest + decoded(bytes as Buffer)).split('\n');
    rest = pieces.pop() ?? '';
    if (rest.length > longestLine) throw new Error('it has a line without end');
    yield pieces.map((text) => ({ text, isWhole: true }));
  }
  rest += decoded();
  if (rest !== '') yield [{ text: rest, isWhole: false }];
}

export const cutOff = 'the file ends within this row';
