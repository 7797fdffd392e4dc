/** Reads the text of a file, decompressed if it is a gzip, ZIP or Zstandard file. Memory is bounded. */

import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Decompress } from 'fzstd';
import { codeOf, messageOf } from '../errors.ts';
import { downloadAgain, FileProblem } from './file-problem.ts';
import { assertSize, fileInZip } from './zip.ts';

export type TextSyntax = 'csv' | 'json' | 'jsonl';

const pieceBytes = 1 << 18;

/** The first bytes tell. A Zstandard file may begin otherwise, and a damaged file too: then its name does. */
const packings = [
  { packing: 'gzip', start: '\x1f\x8b', ending: /\.gz$/i },
  { packing: 'ZIP', start: 'PK\x03\x04', ending: /\.zip$/i },
  { packing: 'Zstandard', start: '\x28\xb5\x2f\xfd', ending: /\.zst$/i },
] as const;
type Packing = (typeof packings)[number]['packing'];
const plainText = /^(?:\xef\xbb\xbf)?[\t\r\n -~]+$/;

/** `candles.csv` for `candles.csv.gz`, and the path itself without such an ending. */
export function unpackedName(path: string): string {
  return packings.reduce((name, { ending }) => (name === path ? path.replace(ending, '') : name), path);
}

/**
 * @throws FileProblem when it is damaged; Error when it cannot be read, or is a ZIP file without exactly one such file.
 */
export async function* contentOf(path: string, syntax: TextSyntax): AsyncGenerator<Uint8Array> {
  const packing = await packingOf(path);
  if (packing === null) yield* bytesOf(path);
  else if (packing === 'ZIP') yield* fileInZip(path, syntax);
  else yield* packing === 'gzip' ? unzipped(path) : decompressed(path);
}

export interface OpenContent {
  readonly size: number;
  /** @param to excluded. */
  read(from: number, to: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** For readers that begin at the end. A compressed file is decompressed into memory. @throws as {@link contentOf}. */
export async function openContent(path: string, syntax: TextSyntax): Promise<OpenContent> {
  if ((await packingOf(path)) === null) {
    const file = await open(path);
    const { size } = await file.stat();
    return {
      size,
      async read(from, to) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(to - from), 0, to - from, from);
        return buffer.subarray(0, bytesRead);
      },
      close: () => file.close(),
    };
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of contentOf(path, syntax)) {
    size += piece.length;
    assertSize(size);
    pieces.push(piece);
  }
  const all = Buffer.concat(pieces);
  return { size, read: async (from, to) => all.subarray(from, to), close: async () => {} };
}

async function packingOf(path: string): Promise<Packing | null> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    const begins = buffer.toString('latin1', 0, bytesRead);
    const found = packings.find(({ start }) => begins.startsWith(start));
    if (found !== undefined) return found.packing;
    const named = packings.find(({ ending }) => ending.test(path));
    if (named !== undefined && plainText.test(begins))
      throw new FileProblem(
        `it is not a ${named.packing} file, as its name says, but begins as text`,
        `rename it if it is not compressed, or ${downloadAgain}`,
      );
    return named?.packing ?? null;
  } finally {
    await file.close();
  }
}

function bytesOf(path: string): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: pieceBytes });
}

async function* unzipped(path: string): AsyncGenerator<Uint8Array> {
  const content = createGunzip({ chunkSize: pieceBytes });
  // The error of either reaches the loop.
  pipeline(bytesOf(path), content, () => {});
  try {
    yield* content;
  } catch (error) {
    throw String(codeOf(error)).startsWith('Z_') ? damaged('gzip', error) : error;
  }
}

async function* decompressed(path: string): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  const stream = new Decompress((piece) => pieces.push(piece));
  function* push(piece: Uint8Array, isLast: boolean): Generator<Uint8Array> {
    pieces = [];
    try {
      stream.push(piece, isLast);
    } catch (error) {
      throw damaged('Zstandard', error);
    }
    yield* pieces;
  }
  for await (const piece of bytesOf(path)) yield* push(piece, false);
  yield* push(new Uint8Array(), true);
}

function damaged(packing: Packing, error: unknown): FileProblem {
  return new FileProblem(`it is a damaged or truncated ${packing} file: ${messageOf(error)}`, downloadAgain, {
    cause: error,
  });
}
