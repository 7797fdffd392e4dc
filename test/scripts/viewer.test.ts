import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../parts/test-database.ts';
import { emptyDirectory, tidemark } from './command.ts';

it('makes a role that may look, keeps its password to itself, and gives it its rights anew', async () => {
  const { url, drop } = await createTestDatabase();
  onTestFinished(() => drop());
  const env = { DATABASE_URL: url };
  expect(await tidemark(['migrate'], env)).toMatchObject({ exitCode: 0 });
  const role = `looks_${randomBytes(4).toString('hex')}`;
  const file = join(emptyDirectory(), 'password');
  writeFileSync(file, 'hush-hush\n');
  const made = await tidemark(['viewer', role, '--password-file', file], env);
  expect(made).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(`^made the role ${role}`) });
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
    stdout: expect.stringMatching(`^there is the role ${role}`),
  });
  const may = await owner.query<{ reads: boolean; writes: boolean; keys: boolean }>(
    `select has_table_privilege($1, 'public.candles', 'select') as reads,
            has_table_privilege($1, 'tidemark.candle_points', 'insert, update, delete') as writes,
            has_any_column_privilege($1, 'tidemark.api_keys', 'select') as keys`,
    [role],
  );
  expect(may.rows).toEqual([{ reads: true, writes: false, keys: false }]);
});

it.each([
  [['viewer', 'pg_monitor'], 'is no name of a role'],
  [['viewer', 'a"b'], 'is no name of a role'],
  [['viewer', 'looks', '--password-file', '/nowhere/at/all'], '--password-file'],
])('refuses %j in one line', async (words, why) => {
  const { exitCode, stderr } = await tidemark(words, { DATABASE_URL: 'postgres://127.0.0.1:1/none' });
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/^tidemark: BAD_ARGUMENT: [^\n]*\n$/)]);
  expect(stderr).toContain(why);
});
