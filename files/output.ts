/**
 * Outputs of an export: standard output, or a file that exists completely or not at all. The file is written as
 * `.NAME.PID.part` and renamed once it is on the disk. A killed process leaves that part; the next writer of NAME
 * removes it.
 */

import { type FileHandle, link, open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { unlessStopped } from '../clock.ts';
import { codeOf, messageOf, TidemarkError } from '../errors.ts';
import type { Output } from './layout.ts';

export type WholeFile = Awaited<ReturnType<typeof openWholeFile>>;

/** @throws TidemarkError FILE_NOT_WRITTEN, like all methods except `discard`. */
export async function openWholeFile(path: string) {
  const target = await writable(path, () => resolved(path));
  await removeLeftovers(target);
  const part = join(dirname(target), `.${basename(target)}.${process.pid}.part`);
  const handle = await writable(path, () => open(part, 'w'));
  let state: 'open' | 'finished' | 'published' = 'open';
  return {
    write: (piece: Uint8Array) => writable(path, () => writeAll(handle, piece)),
    /** Syncs the file to the disk. */
    finish: () =>
      writable(path, async () => {
        await handle.sync();
        await handle.close();
        state = 'finished';
      }),
    /** Renames a finished file to its name. */
    publish: () =>
      writable(path, async () => {
        await rename(part, target);
        state = 'published';
      }),
    /** Gives a finished file its name, unless there is one. @returns false: there is one. */
    publishNew: () =>
      writable(path, async () => {
        try {
          await link(part, target);
          return true;
        } catch (error) {
          if (codeOf(error) === 'EEXIST') return false;
          throw error;
        }
      }),
    /** Removes it, unless it is published. Never throws. */
    async discard() {
      if (state === 'open') await handle.close().catch(() => {});
      if (state !== 'published') await unlink(part).catch(() => {});
    },
  };
}

/** @throws TidemarkError FILE_NOT_WRITTEN */
export const writeWholeFile = (path: string, content: Uint8Array) => writeWhole(path, content, 'publish');

/** Writes a file that is not there. @returns false: there is one. @throws TidemarkError FILE_NOT_WRITTEN */
export const createWholeFile = (path: string, content: Uint8Array) => writeWhole(path, content, 'publishNew');

async function writeWhole<How extends 'publish' | 'publishNew'>(path: string, content: Uint8Array, how: How) {
  const file = await openWholeFile(path);
  try {
    await file.write(content);
    await file.finish();
    return (await file[how]()) as Awaited<ReturnType<WholeFile[How]>>;
  } finally {
    await file.discard();
  }
}

const another = 'choose another path, or remove the file that is in the place of a directory';
const rights = 'choose another path, or get the right to write there';
/** By the code of the system; of others the disk is full. */
const remedies: Readonly<Record<string, string>> = {
  ENOENT: 'create its directory first, or choose another path',
  EEXIST: another,
  ENOTDIR: another,
  EACCES: rights,
  EPERM: rights,
  EROFS: rights,
};

/** @throws TidemarkError FILE_NOT_WRITTEN for any error of the system. */
export async function writable<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    const remedy = remedies[String(codeOf(error))];
    throw new TidemarkError('FILE_NOT_WRITTEN', `${path}: ${reasonOf(error)}`, {
      cause: error,
      ...(remedy === undefined ? {} : { remedy }),
    });
  }
}

/** Resolves links. A device or directory cannot be replaced by a file. */
async function resolved(path: string): Promise<string> {
  try {
    const target = await realpath(path);
    if ((await stat(target)).isFile()) return target;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return path;
    throw error;
  }
  throw new TidemarkError('FILE_NOT_WRITTEN', `${path}: exists and is not a file`, {
    remedy: 'name a file; for a pipe or a device use --out - and let the shell redirect it',
  });
}

async function writeAll(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) {
    at += (await handle.write(piece, at, piece.length - at)).bytesWritten;
  }
}

/** Removes parts of processes that no longer run. Errors are ignored. */
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
    return codeOf(error) !== 'ESRCH';
  }
}

/** The message of the system without the path: `no space left on device`. */
function reasonOf(error: unknown): string {
  return messageOf(error)
    .replace(/^[A-Z]+: /, '')
    .replace(/, [a-z]+( '.*')?$/, '');
}

let cutOff = false;

/** Whether standard output was left with what its reader did not take. Node cannot close it. */
export const isCutOff = () => cutOff;

/**
 * @param signal ends it at once, also while its reader takes nothing.
 * @throws TidemarkError from `write`: INTERRUPTED when the reader has left or the signal is aborted, else
 * FILE_NOT_WRITTEN.
 */
export function standardOutput(signal: AbortSignal, stream: NodeJS.WriteStream = process.stdout): Output {
  return {
    async write(bytes) {
      const writing = new Promise<true>((done, fail) => {
        stream.write(bytes, (error) => (error ? fail(explained(error)) : done(true)));
      });
      if ((await unlessStopped(writing, signal)) === true) return;
      cutOff = true;
      throw new TidemarkError('INTERRUPTED', 'stopped within the output');
    },
  };
}

function explained(error: NodeJS.ErrnoException): TidemarkError {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') {
    return new TidemarkError('INTERRUPTED', 'the reader of the output closed it early', {
      cause: error,
      remedy: 'this is expected with `| head`',
    });
  }
  return unwritten(error, 'free disk space or write elsewhere; the output is truncated');
}

export function unwritten(error: NodeJS.ErrnoException, remedy: string): TidemarkError {
  return new TidemarkError('FILE_NOT_WRITTEN', `standard output: ${reasonOf(error)}`, { cause: error, remedy });
}
