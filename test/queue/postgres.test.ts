import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { PostgresQueueBackend } from '../../queue/packages.ts';
import { postgresStore } from '../../queue/postgres.ts';
import { openQueue, prepareQueue, windowAt } from './queue-parts.ts';

/** Closed at the end of the test. */
async function openBackend(
  url: string,
  namespace: string,
  settings: Parameters<ReturnType<typeof postgresStore>['connect']>[1],
): Promise<PostgresQueueBackend> {
  const backend = postgresStore({ url, namespace }).connect('requests', settings, {});
  onTestFinished(() => backend.close());
  if (!(backend instanceof PostgresQueueBackend)) throw new Error('not on PostgreSQL');
  await backend.waitUntilReady();
  return backend;
}

test.each(['', '?options=-c%20statement_timeout%3D1234'])('does not wait for the disk: %j', async (query) => {
  const { databaseUrl, namespace } = await prepareQueue('postgres');
  const backend = await openBackend(databaseUrl + query, namespace, { connection: 'queue' });
  const { rows } = await backend.connection.pool.query(
    `select current_setting('synchronous_commit') as commit, current_setting('statement_timeout') as timeout,
            current_schema as schema`,
  );
  const timeout = query === '' ? '0' : '1234ms';
  expect(rows).toEqual([{ commit: 'off', timeout, schema: `${namespace}_queue` }]);
});

test('counts the pause of the limiter from the start of a claim, however long the claim takes', async () => {
  const options = await prepareQueue('postgres');
  const queues = await openQueue(options);
  await queues.requests.addWindows([windowAt(1), windowAt(2)]);
  const limiter = { max: 1, duration: 1000 };
  const settings = { connection: 'worker', limiter } as const;
  const backend = await openBackend(options.databaseUrl, options.namespace, settings);

  // Each query takes ten milliseconds.
  let nowMs = Date.now();
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  const { pool } = backend.connection;
  const query = pool.query.bind(pool);
  vi.spyOn(pool, 'query').mockImplementation(async (text, values) => {
    const result = await query(text, values);
    nowMs += 10;
    return result;
  });
  const expiresMs = nowMs + limiter.duration;
  const [claimed] = await backend.moveToActive(randomUUID());
  expect(claimed).not.toBeNull();
  const [none, , pauseMs] = await backend.moveToActive(randomUUID());
  expect(none).toBeNull();
  expect(nowMs + Number(pauseMs)).toBe(expiresMs);
});
