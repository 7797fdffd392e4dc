/**
 * Writes CSV from the lines of COPY. Values stay the bytes that PostgreSQL wrote. Each line gets the names before it,
 * and its time the form of ISO 8601: `2024-01-31 06:00:00+00` becomes `2024-01-31T06:00:00Z`.
 */

import type { EpochMs } from '../model/intervals.ts';
import { columnsOf, type Layout, type Names, type Output, type RowWriter, timeText } from './layout.ts';

/** So large that the cost of a system call does not count. */
const bufferBytes = 1 << 19;
const [lineFeed, comma, plus, letterT, letterZ] = [0x0a, 0x2c, 0x2b, 0x54, 0x5a] as const;
/** Where the seconds of a copied time end, and where it ends itself. */
const [secondsEnd, timeEnd] = [19, 22] as const;
/** Between the date and the time of day. */
const dateEnd = 10;

export function csvWriter(layout: Layout, output: Output): RowWriter {
  let buffer = Buffer.allocUnsafe(bufferBytes);
  let length = buffer.write(`${columnsOf(layout).join(',')}\n`);
  /** The writing of the buffer before, beside which the next one is filled. */
  let writing: Promise<void> = Promise.resolve();

  /** @param least bytes that there is room for afterwards. */
  async function flush(least = bufferBytes): Promise<void> {
    await writing;
    writing = output.write(buffer.subarray(0, length));
    // Its error is thrown by the next flush.
    writing.catch(() => {});
    buffer = Buffer.allocUnsafe(Math.max(bufferBytes, least));
    length = 0;
  }

  /** Writes a line without its names. A time never becomes longer. */
  function writeLine(bytes: Buffer, at: number, end: number): void {
    const isPlain = bytes[at + secondsEnd] === plus && bytes[at + timeEnd] === comma;
    const time = isPlain ? at + timeEnd : bytes.indexOf(comma, at);
    if (isPlain) {
      for (let byte = 0; byte < secondsEnd; byte += 1) buffer[length + byte] = bytes[at + byte] ?? 0;
      buffer[length + dateEnd] = letterT;
      buffer[length + secondsEnd] = letterZ;
      length += secondsEnd + 1;
    } else length += buffer.write(timeText(parseCopiedTime(bytes.toString('latin1', at, time))), length);
    length += bytes.copy(buffer, length, time, end);
  }

  return {
    takes: 'csv',
    async writeSeries(names, copied, onRows) {
      const head = Buffer.from(names.map((name) => `${field(name)},`).join(''));
      let rest: Buffer = Buffer.alloc(0);
      for await (const piece of copied) {
        const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
        let at = 0;
        let lines = 0;
        for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, at)) {
          const bytesOfLine = head.length + end + 1 - at;
          if (length + bytesOfLine > buffer.length) await flush(bytesOfLine);
          length += head.copy(buffer, length);
          writeLine(bytes, at, end + 1);
          at = end + 1;
          lines += 1;
        }
        rest = bytes.subarray(at);
        onRows(lines);
      }
    },
    async end() {
      await flush();
      await writing;
    },
  };
}

function field(text: Names[number]): string {
  if (text === null) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Parses a time of COPY in UTC: `2024-01-31 06:00:00.5+00`. @throws RangeError for infinity. */
export function parseCopiedTime(text: string): EpochMs {
  const timeMs = Date.parse(text.replace(' ', 'T').replace('+00', 'Z'));
  if (Number.isNaN(timeMs)) throw new RangeError(`not a finite time: ${text}`);
  return timeMs;
}
