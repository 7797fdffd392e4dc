/** Tests the commands of docs/operations.md that rotate keys and passwords. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { unprivilegedAccount } from '../../embedded/unprivileged.ts';
import { dumpPrograms } from '../parts/dump-programs.ts';
import { keepDirectory } from '../parts/kept-directory.ts';
import { initCluster } from '../parts/throw-away-cluster.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyDirectory, startService, tidemark } from '../scripts/command.ts';
import { blockOf, runBlock } from './shell-blocks.ts';

const page = 'docs/operations.md';
const programs = dumpPrograms();

it.skipIf(typeof programs === 'string')(
  `a key and a password are replaced, and the old ones refused${typeof programs === 'string' ? ` (${programs})` : ''}`,
  async () => {
    if (typeof programs === 'string') return;
    // A server of its own: roles belong to the whole server.
    const cluster = await initCluster(programs.plain, keepDirectory(unprivilegedAccount()));
    const server = await cluster.start();
    onTestFinished(() => server.stop());
    const cwd = emptyDirectory();
    const env = { DATABASE_URL: cluster.url };
    const file = join(cwd, 'worker-password');
    writeFileSync(file, 'first');
    expect(await tidemark(['migrate', '--worker-password-file', file], env)).toMatchObject({ exitCode: 0 });
    const owner = new pg.Client({ connectionString: cluster.url });
    await owner.connect();
    onTestFinished(() => owner.end());
    const stored = async () => {
      const sql = `select rolpassword from pg_authid where rolname = 'tidemark_worker'`;
      return (await owner.query<{ rolpassword: string }>(sql)).rows[0]?.rolpassword;
    };
    const before = await stored();
    const run = async (title: string, more: Record<string, string> = {}) => {
      const ended = await runBlock(blockOf(page, title), { folder: programs.folder, cwd, env: { ...env, ...more } });
      expect(ended, ended.printed).toMatchObject({ exitCode: 0 });
    };
    await run('Another password for the workers');
    expect(readFileSync(file, 'utf8').trim()).toMatch(/^[\w-]{32}$/);
    expect(await stored()).toMatch(/^SCRAM-SHA-256/);
    expect(await stored()).not.toBe(before);

    const old = (await tidemark(['keys', 'issue', '--name', 'Ann, charts'], env)).stdout.trim();
    const { root } = await startService({ ...env, DASHBOARD: 'off' });
    const status = async (key: string) =>
      (await fetch(`${root}v2/rates`, { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await status(old)).toBe(200);
    await run('Another key for the same client', { OLD: '1' });
    const fresh = readFileSync(join(cwd, 'new-key'), 'utf8').trim();
    expect(await status(fresh)).toBe(200);
    await waitFor('the old key to be refused', async () => (await status(old)) === 401);
  },
);
