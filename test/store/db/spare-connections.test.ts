import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { leaveRoom } from '../../../store/db/spare-connections.ts';
import { createTestDatabase } from '../../parts/test-database.ts';

test('a pool takes turns on the connections that the server gives, and one without any waits for them', async () => {
  const { url, drop } = await createTestDatabase();
  onTestFinished(drop);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  onTestFinished(async () => {
    await admin.query('drop role crowded');
    await admin.end();
  });
  await admin.query("create role crowded login password 'x' connection limit 2");
  const crowded = new URL(url);
  crowded.username = 'crowded';
  crowded.password = 'x';
  const open = (onWait?: () => void) => {
    const pool = new pg.Pool({ connectionString: crowded.href, max: 5 });
    leaveRoom(pool, systemClock, onWait);
    return pool;
  };
  const first = open();
  const queries = Array.from({ length: 20 }, () => first.query('select pg_sleep(0.01)'));
  await Promise.all(queries);
  expect(first.totalCount).toBe(2);

  const impatient = open();
  // Several at once: while one is refused another is being opened.
  const refused = await Promise.allSettled([1, 2, 3].map(() => impatient.query('select 1')));
  expect(refused).toMatchObject(refused.map(() => ({ reason: { code: '53300' } })));
  let waits = 0;
  const patient = open(() => {
    waits += 1;
    if (waits === 1) void first.end();
  });
  const answers = await Promise.all([1, 2, 3].map((one) => patient.query('select $1::int as one', [one])));
  expect(answers.map(({ rows }) => rows[0].one)).toEqual([1, 2, 3]);
  expect(waits).toBeGreaterThan(0);
  await Promise.all([patient.end(), impatient.end()]);
});

test('a pool leaves the last connections of the server to others', async () => {
  const { url, drop } = await createTestDatabase();
  onTestFinished(drop);
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  leaveRoom(pool, systemClock, undefined, 1_000_000);
  await expect(pool.query('select 1')).rejects.toMatchObject({
    code: '53300',
    message: expect.stringMatching(/left for other/),
  });
  await pool.end();
});
