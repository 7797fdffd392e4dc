/** Reads the CSV file within a zip from memory. */

import { createInflateRaw } from 'node:zlib';
import { Unzip, type UnzipDecoder, UnzipPassThrough } from 'fflate';

/** Decoded size of a file. A month of minutes has 9 MB. */
const maxFileBytes = 256 * 1024 * 1024;
/** Decoded size of a piece. */
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

/** The content of the only file, of CSV, within the zip: deflated, or stored as it is. */
function contentOf(zip: Uint8Array): { readonly isDeflated: boolean; readonly bytes: Uint8Array } {
  const found: { isDeflated: boolean; bytes: Uint8Array }[] = [];
  let count = 0;
  const unzip = new Unzip((file) => {
    count += 1;
    if (!file.name.endsWith('.csv')) return;
    file.ondata = (error, bytes) => {
      if (error !== null) throw error;
      found.push({ isDeflated: file.compression === Compressed.compression, bytes });
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
 * The CSV file within a zip, as pieces of whole lines, so that neither all of its text is in memory nor the thread busy for
 * long.
 *
 * @throws Error when the zip is damaged or does not hold one CSV file.
 */
export async function* linesInZip(zip: Uint8Array): AsyncGenerator<string> {
  const { isDeflated, bytes } = contentOf(zip);
  let rest = '';
  let size = 0;
  for await (const chunk of isDeflated ? inflated(bytes) : [Buffer.from(bytes)]) {
    size += chunk.length;
    if (size > maxFileBytes) throw new Error('it is too large');
    const text = rest + chunk.toString('latin1');
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    yield text.slice(0, end);
  }
  yield rest;
}

function inflated(bytes: Uint8Array): AsyncIterable<Buffer> {
  const inflate = createInflateRaw({ chunkSize: pieceBytes });
  inflate.end(bytes);
  return inflate;
}
