/** A lake in a directory of this machine. */

import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { makeDirectory } from '../../../directories.ts';
import { codeOf, messageOf, TidemarkError } from '../../../errors.ts';
import { createWholeFile, writable, writeWholeFile } from '../../../files/output.ts';
import type { LakeStorage } from './storage.ts';

export function directoryStorage(place: string): LakeStorage {
  const directory = resolve(place);
  const prepare = (path: string) => writable(path, async () => makeDirectory(path));

  /** @returns null when there is nothing. */
  async function readable<Result>(path: string, work: () => Promise<Result>): Promise<Result | null> {
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw new TidemarkError('FILE_NOT_USABLE', `${path}: ${messageOf(error)}`, { cause: error });
    }
  }

  return {
    name: directory,
    // The next month is read and encoded while one is synced.
    parallel: 1,
    // Not encoded: readers take what follows the scheme as it is.
    locationOf: (path) => `file://${join(directory, path)}`,
    prepare: () => prepare(directory),
    read: (path) => readable(join(directory, path), () => readFile(join(directory, path))),
    async write(path, content) {
      await prepare(dirname(join(directory, path)));
      await writeWholeFile(join(directory, path), content);
    },
    async create(path, content) {
      await prepare(dirname(join(directory, path)));
      return createWholeFile(join(directory, path), content);
    },
    remove: (path) => writable(join(directory, path), () => rm(join(directory, path), { force: true })),
    async *list(prefix) {
      const options = { recursive: true, withFileTypes: true } as const;
      for (const entry of (await readable(directory, () => readdir(directory, options))) ?? []) {
        const path = relative(directory, join(entry.parentPath, entry.name)).replaceAll(sep, '/');
        if (entry.isFile() && path.startsWith(prefix)) yield path;
      }
    },
  };
}
