/** A copy of the tree as in a fresh clone, for tests of what is built from it. */

import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import dockerignore from '@balena/dockerignore';
import { emptyDirectory } from '../scripts/command.ts';

/** Every file that git tracks or would add, without deleted ones. */
function files(): string[] {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  return list.split('\0').filter((name) => name !== '' && existsSync(name));
}

export function imageContext(): string[] {
  return dockerignore.default().add(readFileSync('.dockerignore', 'utf8')).filter(files());
}

/** An empty directory that other users may enter: the embedded database runs as another user. */
export function openDirectory(): string {
  const directory = emptyDirectory();
  chmodSync(directory, 0o755);
  return directory;
}

/** Copies the files and this tree's `node_modules` to a directory that is removed with the test. */
export function copyOf(names: readonly string[] = files()): string {
  const directory = openDirectory();
  for (const name of names) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    cpSync(name, join(directory, name));
  }
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  return directory;
}
