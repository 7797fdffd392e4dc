/** Reads the CSV file within a zip from memory. */

import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { Unzip, type UnzipDecoder, UnzipPassThrough } from 'fflate';

/** Decoded size of a file. A month of minutes has 9 MB. */
const maxFileBytes = 256 * 1024 * 1024;
/** Size of a piece. */
const pieceBytes = 1 << 18;

/** Hands on what is compressed: Node inflates it, outside of this thread, in a third of the library's time. */
class Compressed implements UnzipDecoder {
  static readonly compression = 8;
  readonly #parts: Uint8Array[] = [];
  ondata: UnzipDecoder['ondata'] = () => {};

  push(part: Uint8Array, isLast: boolean): void {
    this.#parts.push(part);
    if (isLast) this.ondata(null, Buffer.concat(this.#parts), true);
  }
}

interface Content {
  readonly isDeflated: boolean;
  readonly bytes: Uint8Array;
  /** Decoded; 0: unknown. */
  readonly statedSize: number;
}

/** The content of the only file, of CSV, within the zip: deflated, or stored as it is. */
function contentOf(zip: Uint8Array): Content {
  const found: Content[] = [];
  let count = 0;
  const unzip = new Unzip((file) => {
    count += 1;
    if (!file.name.endsWith('.csv')) return;
    file.ondata = (error, bytes) => {
      if (error !== null) throw error;
      const isDeflated = file.compression === Compressed.compression;
      found.push({ isDeflated, bytes, statedSize: file.originalSize ?? 0 });
    };
    file.start();
  });
  unzip.register(Compressed);
  unzip.register(UnzipPassThrough);
  unzip.push(zip, true);
  const [content] = found;
  if (count === 0) throw new Error('it holds no file');
  if (content === undefined || count > 1) throw new Error('it does not hold one CSV file');
  return content;
}

/**
 * The CSV file within a zip, as pieces of whole lines, so that the thread is not busy for long. They are parts of one buffer,
 * which is the caller's.
 *
 * @throws Error when the zip is damaged or does not hold one CSV file.
 */
export async function* linesInZip(zip: Uint8Array): AsyncGenerator<Buffer> {
  const content = contentOf(zip);
  const text = content.isDeflated ? await inflated(content) : Buffer.from(content.bytes);
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start + pieceBytes);
    const end = newline === -1 ? text.length : newline + 1;
    yield text.subarray(start, end);
    start = end;
    await setImmediate();
  }
}

function inflated({ bytes, statedSize }: Content): Promise<Buffer> {
  // One allocation, if the size is what it is stated to be.
  const chunkSize = Math.min(Math.max(pieceBytes, statedSize), maxFileBytes);
  return promisify(inflateRaw)(bytes, { chunkSize, maxOutputLength: maxFileBytes });
}
