/** Reads the CSV file within a zip from memory. */

import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { Unzip, type UnzipDecoder, UnzipPassThrough } from 'fflate';
import { isCsvFile } from '../model/names.ts';

/** Decoded size of a file. A month of minutes has 9 MB. */
const maxFileBytes = 256 * 1024 * 1024;
/** Decoded size of a file that states none. */
const usualFileBytes = 1 << 18;

/** Hands on what is compressed: Node inflates it, outside of this thread, in a third of the library's time. */
class Compressed implements UnzipDecoder {
  static readonly compression = 8;
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];
  ondata: UnzipDecoder['ondata'] = () => {};

  push(part: Uint8Array<ArrayBuffer>, isLast: boolean): void {
    if (part.length > 0) this.#parts.push(part);
    if (!isLast) return;
    const [only, another] = this.#parts;
    // A whole zip gives the whole file at once.
    const isWhole = only !== undefined && another === undefined;
    this.ondata(null, isWhole ? only : Buffer.concat(this.#parts), true);
  }
}

interface Content {
  readonly name: string;
  readonly isDeflated: boolean;
  readonly bytes: Uint8Array;
  /** Decoded; 0: unknown. */
  readonly statedSize: number;
}

/** The content of the only file of CSV within the zip: deflated, or stored as it is. */
function contentOf(zip: Uint8Array): Content {
  const found: Content[] = [];
  let count = 0;
  const unzip = new Unzip((file) => {
    if (!isCsvFile(file.name)) return;
    count += 1;
    file.ondata = (error, bytes) => {
      if (error !== null) throw error;
      const isDeflated = file.compression === Compressed.compression;
      found.push({ name: file.name, isDeflated, bytes, statedSize: file.originalSize ?? 0 });
    };
    file.start();
  });
  unzip.register(Compressed);
  unzip.register(UnzipPassThrough);
  unzip.push(zip, true);
  const [content] = found;
  if (content === undefined || count > 1) throw new Error(`it holds ${count} CSV files, not one`);
  return content;
}

/**
 * The CSV file within a zip, and its name.
 *
 * @throws Error when the zip is damaged or does not hold one CSV file.
 */
export async function csvInZip(zip: Uint8Array): Promise<{ readonly name: string; readonly csv: Buffer }> {
  const { name, isDeflated, bytes, statedSize } = contentOf(zip);
  if (!isDeflated) return { name, csv: Buffer.from(bytes) };
  // One allocation, if the size is what it is stated to be: a chunk that is full makes Node allocate the next one.
  const chunkSize = Math.min(Math.max(usualFileBytes, statedSize + 1), maxFileBytes);
  return { name, csv: await promisify(inflateRaw)(bytes, { chunkSize, maxOutputLength: maxFileBytes }) };
}
