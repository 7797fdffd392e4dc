/** A directory for one test's embedded database, and what a test asks of it. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { isAlive } from '../../../store/embedded/postmaster.ts';
import { type ChildModule, startChildModule } from '../../parts/child-module.ts';
import { waitFor } from '../../parts/wait-for.ts';

/** Not made yet; its parent may be entered by its owner alone. After the test nothing of it is left running. */
export function scratchDirectory(): string {
  const parent = mkdtempSync(join(tmpdir(), 'tidemark-embedded-'));
  const directory = join(parent, '.tidemark');
  onTestFinished(async () => {
    const pid = serverPid(directory);
    if (pid !== null && isAlive(pid)) {
      process.kill(pid, 'SIGQUIT');
      await waitFor('the server of the test to end', () => !isAlive(pid));
    }
    rmSync(parent, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return directory;
}

/** One that exists and holds `entries` as directories. */
export function existingDirectory(...entries: string[]): string {
  const directory = scratchDirectory();
  for (const path of [directory, ...entries.map((name) => join(directory, name))]) mkdirSync(path);
  return directory;
}

/** The process that the lock file names, or null when there is no lock file: after an orderly stop there is none. */
export function serverPid(directory: string): number | null {
  try {
    return Number.parseInt(readFileSync(join(directory, 'postgres', 'postmaster.pid'), 'utf8'), 10);
  } catch {
    return null;
  }
}

export async function killServer(directory: string): Promise<void> {
  const pid = serverPid(directory);
  if (pid === null) throw new Error('no server runs');
  process.kill(pid, 'SIGKILL');
  await waitFor('the killed server to be gone', () => !isAlive(pid));
}

/** Another command that uses the same directory; it leaves when its input is closed. */
export function startHolder(directory: string): ChildModule {
  const holder = startChildModule('test/store/embedded/holder.ts', [directory]);
  onTestFinished(() => holder.end());
  return holder;
}

export async function urlHeldBy(holder: ChildModule): Promise<string> {
  return (await holder.waitForPrinted(/holds (\S+)\.\n/))[1] ?? '';
}

export async function leave(holder: ChildModule): Promise<void> {
  holder.process.stdin?.end();
  await holder.waitForPrinted(/released/);
}

/** Runs one statement over a connection of its own. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
