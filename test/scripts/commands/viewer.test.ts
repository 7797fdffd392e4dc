import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { emptyDirectory, start, tidemark } from '../command.ts';

it('creates a read-only role, hides its password, and renews its rights', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(() => drop());
  const env = { DATABASE_URL: url };
  const role = `looks_${randomBytes(4).toString('hex')}`;
  const file = join(emptyDirectory(), 'password');
  writeFileSync(file, 'hush-hush\n');
  const made = await tidemark(['viewer', role, '--password-file', file], env);
  expect(made).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(`^created read-only role "${role}"`),
  });
  expect(made.stdout + made.stderr).not.toContain('hush');
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  onTestFinished(async () => {
    await owner.query(`drop owned by ${role}; drop role ${role}`);
    await owner.end();
  });
  await owner.query(`revoke all on public.candles from ${role}`);
  expect(await tidemark(['viewer', role], env)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(`^updated read-only role "${role}"`),
  });
  const may = await owner.query<{ reads: boolean; writes: boolean; keys: boolean }>(
    `select has_table_privilege($1, 'public.candles', 'select') as reads,
            has_table_privilege($1, 'tidemark.candle_points', 'insert, update, delete') as writes,
            has_any_column_privilege($1, 'tidemark.api_keys', 'select') as keys`,
    [role],
  );
  expect(may.rows).toEqual([{ reads: true, writes: false, keys: false }]);
});

it('creates a role for the service that can change nothing but keys', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(() => drop());
  const env = { DATABASE_URL: url };
  const role = `serves_${randomBytes(4).toString('hex')}`;
  const file = join(emptyDirectory(), 'password');
  writeFileSync(file, 'hush-hush');
  expect(await tidemark(['viewer', role, '--serves', '--password-file', file], env)).toMatchObject({
    exitCode: 0,
  });
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  onTestFinished(async () => {
    await owner.query(`drop owned by ${role}; drop role ${role}`);
    await owner.end();
  });
  const asRole = new URL(url);
  asRole.username = role;
  asRole.password = 'hush-hush';

  const service = start(['serve'], { DATABASE_URL: asRole.href, DASHBOARD: 'on', LOG_LEVEL: 'info' });
  const address = () => /at (http:\S+)\/v2/.exec(service.stdout())?.[1];
  await waitFor('the service', () => address() !== undefined);
  const base = address();
  expect((await fetch(`${base}/v2/rates`)).status).toBe(200);
  expect((await fetch(`${base}/readyz`)).status).toBe(200);
  // Looked up in a table that the role itself may not read.
  const refused = await fetch(`${base}/v2/rates`, { headers: { authorization: 'Bearer not-a-key' } });
  expect(refused.status).toBe(401);
  expect((await fetch(`${base}/dashboard/problems`)).status).toBe(200);
  service.kill('SIGTERM');
  expect((await service.ended).exitCode).toBe(0);
  expect(service.stderr()).not.toContain('permission denied');

  const client = new pg.Client({ connectionString: asRole.href });
  await client.connect();
  onTestFinished(() => client.end());
  expect((await client.query('show jit')).rows).toEqual([{ jit: 'off' }]);
  expect((await client.query('show enable_bitmapscan')).rows).toEqual([{ enable_bitmapscan: 'off' }]);
  await client.query('set default_transaction_read_only = off');
  for (const sql of [
    'delete from tidemark.candle_points',
    'select * from tidemark.api_keys',
    'create table t ()',
  ])
    await expect(client.query(sql)).rejects.toThrow('permission denied');
});
