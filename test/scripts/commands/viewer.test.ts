import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { emptyDirectory, market, startService, tidemark } from '../command.ts';

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

it('migrate creates the roles of the parts: a worker fetches, and the dashboard acts as it, beside a service that only reads', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(() => drop());
  const directory = emptyDirectory();
  const fileOf = (kind: string) => join(directory, kind);
  const roles = ['worker', 'service', 'viewer'];
  for (const kind of roles) writeFileSync(fileOf(kind), `it's ${kind}/\n`);
  const given = roles.flatMap((kind) => [`--${kind}-password-file`, fileOf(kind)]);
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  onTestFinished(async () => {
    for (const kind of roles) await owner.query(`drop owned by tidemark_${kind}; drop role tidemark_${kind}`);
    await owner.end();
  });
  const migrated = await tidemark(['migrate', ...given], { DATABASE_URL: url });
  expect(migrated.stdout).toMatch(/^created role tidemark_worker\ncreated role tidemark_service\n/m);
  expect(migrated.stdout + migrated.stderr).not.toContain("it's");
  expect((await tidemark(['migrate', ...given.slice(0, 2)], { DATABASE_URL: url })).stdout).toMatch(
    /^updated role tidemark_worker\nnothing to do/m,
  );
  for (const words of [
    ['migrate', 'down', '--yes', ...given],
    ['migrate', '--worker-password-file', '/nowhere'],
  ])
    expect(await tidemark(words, { DATABASE_URL: url })).toMatchObject({ exitCode: 2 });

  const as = (kind: string) => {
    const address = new URL(url);
    address.username = `tidemark_${kind}`;
    address.password = '';
    return address.href;
  };
  // Its password is in a file, and not in the address.
  const worker = { DATABASE_URL: as('worker'), DATABASE_PASSWORD_FILE: fileOf('worker') };
  const track = ['track', 'candles', ...market, '--interval', 'h1', '--from', '2024-03-01', '--to', '2024-03-03'];
  expect(await tidemark(track, worker)).toMatchObject({ exitCode: 0 });
  expect(await tidemark(['keys', 'issue', '--name', 'x'], worker)).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('permission denied'),
  });

  const reading = { DATABASE_URL: as('service'), DATABASE_PASSWORD_FILE: fileOf('service') };
  const access = { DASHBOARD: 'on', DASHBOARD_PASSWORD: 'long enough for it' };
  const ask = async (env: Record<string, string>, action: string, body: object) => {
    const { service, root } = await startService({ ...reading, ...access, ...env });
    const authorization = `Basic ${Buffer.from(`:${access.DASHBOARD_PASSWORD}`).toString('base64')}`;
    const answer = await fetch(`${root}dashboard/actions/${action}`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { authorization, 'content-type': 'application/json' },
    });
    service.kill('SIGTERM');
    return { status: answer.status, text: await answer.text() };
  };
  expect(await ask({}, 'pause', {})).toMatchObject({
    status: 403,
    text: expect.stringContaining('set DASHBOARD_DATABASE_URL'),
  });
  const acting = { DASHBOARD_DATABASE_URL: as('worker'), DASHBOARD_DATABASE_PASSWORD_FILE: fileOf('worker') };
  expect(await ask(acting, 'pause', {})).toMatchObject({ status: 200 });
  const { rows } = await owner.query('select action, state from tidemark.actions');
  expect(rows).toEqual([{ action: 'pause', state: 'done' }]);
});
