/** A directory for the embedded database of one test. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { systemClock } from '../../clock.ts';
import { acquireEmbeddedDatabase } from '../../embedded/acquire.ts';
import { isAlive } from '../../embedded/postmaster.ts';
import { type ChildModule, startChildModule } from '../parts/child-module.ts';
import { waitFor } from '../parts/wait-for.ts';

/**
 * A path that does not exist yet, below a directory that only its owner may enter. No process of it is left after the
 * test.
 */
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

/** The process id in the lock file; null without one, as after a clean stop. */
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

/** Another command that uses the same directory. It ends when its input is closed. */
export function startHolder(directory: string): ChildModule {
  const holder = startChildModule('test/embedded/holder.ts', [directory]);
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

/** Whether a database can be acquired in the directory, answers, and is released. */
export async function expectToWork(directory: string, ...more: string[]): Promise<void> {
  const { url, release } = await acquireEmbeddedDatabase({ clock: systemClock, directory });
  for (const sql of ['select 1 as one', ...more]) expect(await query(url, sql)).toEqual([{ one: 1 }]);
  await release();
  expect(serverPid(directory)).toBeNull();
}
