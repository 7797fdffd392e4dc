/**
 * A file that is there as a whole or not at all: it is written under another name beside it, and takes its own when
 * everything is on the disk. Whoever reads the old one meanwhile goes on reading that.
 *
 * A process that is killed leaves `.NAME.PID.part`, which the next one that writes NAME takes away.
 */

import { type FileHandle, open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { TidemarkError } from '../errors.ts';
import type { Output } from './row-writer.ts';

export interface WholeFile extends Output {
  /** Brings everything to the disk. */
  finish(): Promise<void>;
  /** Gives a finished file its name. */
  publish(): Promise<void>;
  /** Takes it away, unless it is published. Never throws. */
  discard(): Promise<void>;
}

/** @throws TidemarkError FILE_NOT_WRITTEN, as all of its methods but `discard`. */
export async function openWholeFile(path: string): Promise<WholeFile> {
  const target = await writable(path, () => resolved(path));
  await removeLeftovers(target);
  const part = join(dirname(target), `.${basename(target)}.${process.pid}.part`);
  const handle = await writable(path, () => open(part, 'w'));
  let state: 'open' | 'finished' | 'published' = 'open';
  return {
    write: (piece) => writable(path, () => writeAll(handle, piece)),
    finish: () =>
      writable(path, async () => {
        await handle.sync();
        await handle.close();
        state = 'finished';
      }),
    publish: () =>
      writable(path, async () => {
        await rename(part, target);
        state = 'published';
      }),
    async discard() {
      if (state === 'open') await handle.close().catch(() => {});
      if (state !== 'published') await unlink(part).catch(() => {});
    },
  };
}

/** @throws TidemarkError FILE_NOT_WRITTEN for whatever the system says against it. */
async function writable<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    throw new TidemarkError('FILE_NOT_WRITTEN', `${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Where a link leads. What is there and is no file, such as a device, could not be replaced by one. */
async function resolved(path: string): Promise<string> {
  try {
    const target = await realpath(path);
    if ((await stat(target)).isFile()) return target;
  } catch (error) {
    if (isMissing(error)) return path;
    throw error;
  }
  throw new TidemarkError('FILE_NOT_WRITTEN', `${path}: there is something that is no file`, {
    remedy: 'name a file; for a pipe or a device use --out - and let the shell redirect it',
  });
}

async function writeAll(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) {
    at += (await handle.write(piece, at, piece.length - at)).bytesWritten;
  }
}

/** What processes that are no more have left. Where it cannot be taken away it stays: it is in nobody's way. */
async function removeLeftovers(target: string): Promise<void> {
  const directory = dirname(target);
  const start = `.${basename(target)}.`;
  for (const name of await readdir(directory).catch(() => [])) {
    const pid = name.startsWith(start) ? /^(\d+)\.part$/.exec(name.slice(start.length))?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) await unlink(join(directory, name)).catch(() => {});
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** What the system says, without the path: `no space left on device`. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/^[A-Z]+: /, '').replace(/, [a-z]+( '.*')?$/, '');
}
