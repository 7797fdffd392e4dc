/** Reads the only file of a syntax within a ZIP file. */

import { readFile, stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { type UnzipFileFilter, unzipSync } from 'fflate';
import { messageOf } from '../errors.ts';
import { formatBytes } from '../model/format.ts';
import { downloadAgain, FileProblem } from './file-problem.ts';

/** The file is read into memory. A month of minutes has 6 MB. */
const maxBytes = 256 * 1024 * 1024;
const pieceBytes = 1 << 18;
const [stored, deflated] = [0, 8];
const entryOfDirectory = 'PK\x01\x02';

const endings = { csv: /\.csv$/i, json: /\.json$/i, jsonl: /\.(?:jsonl|ndjson)$/i } as const;

/** @throws FileProblem when it is damaged or too large, or has not exactly one file of the syntax. */
export async function* fileInZip(path: string, syntax: keyof typeof endings): AsyncGenerator<Uint8Array> {
  assertSize((await stat(path)).size);
  const bytes = await readFile(path);
  const names: string[] = [];
  const files = unzipped(bytes, ({ name, originalSize, compression }) => {
    assertSize(originalSize);
    if (name === 'xl/workbook.xml')
      throw new FileProblem('it is a workbook of a spreadsheet', 'import the file of its publisher in its place');
    // Others, such as a directory or a readme, do no harm.
    const isWanted = endings[syntax].test(name) && !name.startsWith('__MACOSX/');
    if (isWanted && compression !== stored && compression !== deflated)
      throw new FileProblem(
        `${name} in it is compressed by method ${compression}, which cannot be read`,
        'compress it anew with deflate, or unpack it',
      );
    if (isWanted) names.push(name);
    return isWanted;
  });
  const [[name, file] = ['', undefined]] = Object.entries(files);
  if (file === undefined || names.length > 1)
    throw new FileProblem(
      `it has ${names.length} ${syntax.toUpperCase()} files, not one`,
      names.length > 1 ? 'unpack it, and name the files that you want' : 'unpack it, and see what it holds',
    );
  // The library does not compare the checksum.
  if (crc32(file) !== statedChecksum(bytes, name))
    throw new FileProblem('its content does not have the checksum that it states', downloadAgain);
  for (let at = 0; at < file.length; at += pieceBytes) yield file.subarray(at, at + pieceBytes);
}

function unzipped(bytes: Buffer, filter: UnzipFileFilter) {
  try {
    return unzipSync(bytes, { filter });
  } catch (error) {
    if (error instanceof FileProblem) throw error;
    const message = `it is a damaged or truncated ZIP file: ${messageOf(error)}`;
    throw new FileProblem(message, downloadAgain, { cause: error });
  }
}

/** The checksum in the directory at the end of a zip. Null: the directory does not name the file. */
function statedChecksum(zip: Buffer, name: string): number | null {
  const [checksumAt, nameLengthAt, nameAt] = [16, 28, 46];
  for (let at = zip.lastIndexOf(entryOfDirectory); at !== -1; at = zip.lastIndexOf(entryOfDirectory, at - 1)) {
    const end = at + nameAt + zip.readUInt16LE(at + nameLengthAt);
    if (zip.toString('utf8', at + nameAt, end) === name) return zip.readUInt32LE(at + checksumAt);
    if (at === 0) break;
  }
  return null;
}

/** @throws FileProblem for more than fits into memory. */
export function assertSize(bytes: number): void {
  if (bytes > maxBytes)
    throw new FileProblem(
      `it has more than ${formatBytes(maxBytes)}`,
      'unpack it, or import parts of it, one after the other',
    );
}
