import { expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { openOwnStore } from '../../store/open-store.ts';
import { start, tidemark } from '../command.ts';

it('rejects down while a worker or a scheduler is connected', async () => {
  const { url, drop } = await createTestDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url, SOURCE_URL: 'http://127.0.0.1:1/v2' };
  expect((await tidemark(['migrate'], env)).exitCode).toBe(0);
  const parts = ['worker', 'scheduler'];
  for (const part of parts) {
    const service = start([part], env);
    const isThere = async () => (await tidemark(['status', '--check', part], env)).exitCode === 0;
    await waitFor(`the ${part}`, isThere);
    const refused = await tidemark(['migrate', 'down', '--yes'], env);
    expect(refused.stderr).toMatch(/^tidemark: DATABASE_IN_USE: in use by (\w+ and )?\w+; stop it first.*\n$/);
    expect(refused.stderr).toContain(part);
    expect(refused.exitCode).toBe(5);
    expect((await tidemark(['status'], env)).exitCode).toBe(0);
    service.kill('SIGTERM');
    expect((await service.ended).exitCode).toBe(0);
  }
  const down = await tidemark(['migrate', 'down', '--yes'], env);
  expect(down).toMatchObject({ exitCode: 0, stderr: '' });
  // There is nothing left to be in use.
  expect((await tidemark(['migrate', 'down', '--yes'], env)).exitCode).toBe(0);
});

it('Ctrl-C rolls a migration back, and says so', async () => {
  const { database, url } = await openOwnStore();
  const settings = `select from tidemark.settings where name like 'derived:%'`;
  await database.pool.query(`delete from tidemark.settings where name like 'derived:%'`);
  const reader = await database.pool.connect();
  // The view cannot be replaced meanwhile.
  await reader.query('begin; set local idle_in_transaction_session_timeout = 0; select from candles limit 0');
  const running = start(['migrate'], { DATABASE_URL: url });
  const waiting = `select from pg_stat_activity where application_name = 'tidemark migrate' and wait_event_type = 'Lock'`;
  await waitFor('the lock', async () => (await database.pool.query(waiting)).rowCount === 1);
  running.kill('SIGINT');
  expect(await running.ended).toMatchObject({
    exitCode: 130,
    stderr: expect.stringContaining(
      'INTERRUPTED: stopped; the migration was rolled back: the database is as it was; run the same command again',
    ),
  });
  await reader.query('commit');
  reader.release();
  expect((await database.pool.query(settings)).rowCount).toBe(0);
  expect((await tidemark(['migrate'], { DATABASE_URL: url })).exitCode).toBe(0);
});
