/** Whether a file is the one that its sidecar describes, byte by byte. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { TidemarkError } from '../errors.ts';
import { usable } from './row-reader.ts';
import { type Sidecar, sidecar } from './sidecar.ts';

/** @returns null when there is no such file. @throws TidemarkError FILE_NOT_USABLE */
export async function readSidecar(path: string): Promise<Sidecar | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new TidemarkError('FILE_NOT_USABLE', `${path}: ${String(error)}`, { cause: error });
  }
  return usable(path, async () => {
    const result = sidecar.safeParse(JSON.parse(text));
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    throw new Error(`it is no sidecar of an export: ${issue?.path.join('.')}: ${issue?.message}`);
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
