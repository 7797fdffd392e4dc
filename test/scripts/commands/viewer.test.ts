import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { emptyDirectory, startService, tidemark } from '../command.ts';

it('creates roles for queries and for the service that may change nothing, hides their passwords, and renews their rights', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(() => drop());
  const env = { DATABASE_URL: url };
  const [viewer, role] = ['looks', 'serves'].map((name) => `${name}_${randomBytes(4).toString('hex')}`);
  const file = join(emptyDirectory(), 'password');
  writeFileSync(file, 'hush-hush\n');
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  onTestFinished(async () => {
    for (const name of [viewer, role]) await owner.query(`drop owned by ${name}; drop role ${name}`);
    await owner.end();
  });
  const run = (...words: string[]) => tidemark(['viewer', ...words], env);
  const made = await run(`${viewer}`, '--password-file', file);
  expect(made).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(`^created read-only role "${viewer}"`) });
  expect(made.stdout + made.stderr).not.toContain('hush');
  await owner.query(`revoke all on public.candles from ${viewer}`);
  expect(await run(`${viewer}`)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(`^updated read-only role "${viewer}"`),
  });
  const may = await owner.query(`select has_table_privilege($1, 'public.candles', 'select') as reads`, [viewer]);
  expect(may.rows).toEqual([{ reads: true }]);

  // A role that it did not create stays as it is.
  expect((await run(new URL(url).username)).stderr).toContain('was not created by');

  expect(await run(`${role}`, '--serves', '--password-file', file)).toMatchObject({ exitCode: 0 });
  const asRole = new URL(url);
  asRole.username = role ?? '';
  asRole.password = 'hush-hush';
  const own = { DATABASE_URL: asRole.href, DASHBOARD: 'on', LOG_LEVEL: 'info' };
  const { service, root } = await startService(own);
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(`${root}${path}`, { headers })).status;
  for (const path of ['v2/rates', 'readyz', 'dashboard/problems']) expect(await status(path)).toBe(200);
  // Looked up in a table that the role itself may not read.
  expect(await status('v2/rates', { authorization: 'Bearer not-a-key' })).toBe(401);
  service.kill('SIGTERM');
  expect((await service.ended).exitCode).toBe(0);
  expect(service.stderr()).not.toContain('permission denied');

  const client = new pg.Client({ connectionString: asRole.href });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('set default_transaction_read_only = off');
  for (const sql of [
    'delete from tidemark.candle_points',
    'select * from tidemark.api_keys',
    'select * from tidemark.request_times',
    'create table t ()',
  ])
    await expect(client.query(sql)).rejects.toThrow('permission denied');
});
