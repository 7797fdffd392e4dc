/** Reads the CSV file within a ZIP file. */

import { readFile, stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { unzipSync } from 'fflate';
import { formatBytes } from '../format.ts';

/** The file is read into memory. A month of minutes has 6 MB. */
const maxBytes = 256 * 1024 * 1024;
const pieceBytes = 1 << 18;

/** @throws Error when it is damaged or too large, or has not exactly one file, of CSV. */
export async function* csvInZip(path: string): AsyncGenerator<Uint8Array> {
  assertSize((await stat(path)).size);
  const bytes = await readFile(path);
  const names: string[] = [];
  const files = unzipSync(bytes, {
    filter({ name, originalSize }) {
      assertSize(originalSize);
      names.push(name);
      return /\.csv$/i.test(name);
    },
  });
  const [file] = Object.values(files);
  if (file === undefined || names.length > 1) throw new Error('it has not exactly one CSV file');
  // The library does not compare the checksum. The header of the only file ends the archive, before the directory's end.
  const header = bytes.lastIndexOf('PK\x01\x02');
  if (crc32(file) !== bytes.readUInt32LE(header + 16))
    throw new Error('its content does not have the checksum that it states');
  for (let at = 0; at < file.length; at += pieceBytes) yield file.subarray(at, at + pieceBytes);
}

function assertSize(bytes: number): void {
  if (bytes > maxBytes) throw new Error(`it has more than ${formatBytes(maxBytes)}`);
}
