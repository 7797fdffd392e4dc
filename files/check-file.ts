/** Whether a file is the one that its sidecar describes, byte by byte. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { TidemarkError } from '../errors.ts';
import { usable } from './row-reader.ts';
import { type Sidecar, sidecar } from './sidecar.ts';

/**
 * A pipe or a device can be read once or without end, and one that nobody writes to could not even be left.
 *
 * @throws TidemarkError FILE_NOT_USABLE when it is not there, or is no file.
 */
export async function assertIsFile(path: string): Promise<void> {
  await usable(path, async () => {
    if (!(await stat(path)).isFile()) throw new Error('it is no file');
  });
}

/** What tells a file from one that was laid in its place, or changed. @throws TidemarkError FILE_NOT_USABLE */
export async function stampOf(path: string): Promise<string> {
  return usable(path, async () => {
    const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs].join(' ');
  });
}

/** @returns null when there is no such file. @throws TidemarkError FILE_NOT_USABLE */
export async function readSidecar(path: string): Promise<Sidecar | null> {
  try {
    await assertIsFile(path);
  } catch (error) {
    if (error instanceof TidemarkError && isAbsence(error.cause)) return null;
    throw error;
  }
  return usable(path, async () => {
    const result = sidecar.safeParse(JSON.parse(await readFile(path, 'utf8')));
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const place = issue?.path.join('.') ?? '';
    const what = place === '' ? 'it holds no JSON object' : `${place}: ${issue?.message}`;
    throw new Error(`it is no sidecar of an export: ${what}`);
  });
}

/** @throws TidemarkError FILE_NOT_USABLE when it is another file, or one that was changed or cut off. */
export async function assertDescribed(path: string, described: Sidecar['file']): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  await usable(path, async () => {
    for await (const piece of createReadStream(path)) {
      hash.update(piece as Buffer);
      bytes += (piece as Buffer).length;
    }
  });
  if (hash.digest('hex') === described.sha256) return;
  const what =
    bytes === described.bytes ? 'its SHA-256 differs' : `it has ${bytes} bytes, not ${described.bytes}`;
  throw new TidemarkError('FILE_NOT_USABLE', `${path} is not the file that its sidecar describes: ${what}`, {
    remedy: 'export it anew, or import it with --points-only: no coverage is claimed then',
  });
}

function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
