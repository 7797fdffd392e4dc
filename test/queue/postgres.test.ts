import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { done, windowJobId } from '../../queue/jobs.ts';
import { PostgresQueueBackend } from '../../queue/packages.ts';
import { postgresStore } from '../../queue/postgres.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { startChildModule } from '../parts/child-module.ts';
import { waitFor } from '../parts/wait-for.ts';
import { openQueue, prepareQueue, windowAt } from './queue-parts.ts';

/** Closed at the end of the test. */
async function openBackend(
  url: string,
  namespace: string,
  settings: Parameters<ReturnType<typeof postgresStore>['connect']>[1],
): Promise<PostgresQueueBackend> {
  const store = postgresStore({ url, namespace });
  const backend = store.connect('requests', settings, {});
  onTestFinished(() => backend.close().then(store.close));
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

test('two processes take 500 windows that are due together, and each goes back and ends as often as it should', async () => {
  const options = await prepareQueue('postgres');
  const queues = await openQueue(options);
  const windows = Array.from({ length: 500 }, (_, place) => windowAt(place));
  await queues.requests.addWindows(windows);
  // Without a limiter, as for archives. The server may read the due rows in another order in each session.
  const inOrderOfTheTable = `${options.databaseUrl}?options=-c%20enable_indexscan%3Doff%20-c%20enable_bitmapscan%3Doff`;
  const processes = [options.databaseUrl, inOrderOfTheTable].map((databaseUrl) =>
    startChildModule('test/queue/many-windows.ts', [JSON.stringify({ ...options, databaseUrl })]),
  );
  for (const { end } of processes) onTestFinished(() => end());
  const client = new pg.Client({ connectionString: options.databaseUrl });
  await client.connect();
  onTestFinished(() => client.end());
  const table = `${options.namespace}_queue.job`;
  const rounds = 3;
  for (let round = 0; round < rounds; round++) {
    await waitFor('all windows to be put off', async () => {
      const { rows } = await client.query(
        `select count(*)::int from ${table} where process_at_ms > 1000 and state = 'delayed'`,
      );
      return rows[0].count === windows.length;
    });
    if (round === rounds - 1) for (const child of processes) child.process.stdin?.write('end\n');
    await client.query(`begin; lock table ${table}; update ${table} set process_at_ms = 1000 * random();
                        select pg_notify('bullmq_jobs', 'requests'); commit`);
  }
  await waitFor('an empty queue', async () => {
    const { waiting, active, delayed } = await queues.requests.depth();
    return waiting + active + delayed === 0;
  });
  // An error of the queue, or a second attempt, would be a line of its own.
  const lines = processes.flatMap((child) => child.printed().trim().split('\n'));
  const once = windows.map((window) => `took ${windowJobId(window)}, attempt 1`);
  expect(lines.sort()).toEqual([...once, ...Array(rounds).fill(once).flat()].sort());
});

test('the sessions of a process do not grow with its sources', async () => {
  const options = await prepareQueue('postgres');
  const queues = await openQueue(options);
  const sources = Array.from({ length: 100 }, (_, place) => `source${place}`);
  const ran = new Arrivals<string>();
  for (const source of sources) {
    const worker = queues.startRequestWorker(
      async () => {
        ran.push(source);
        return done;
      },
      { concurrency: 4, limiter: null, requestsPerMinute: 60 },
      source,
    );
    onTestFinished(() => worker.close(0));
    await worker.ready();
  }
  await Promise.all(sources.map((source) => queues.requestsOf(source).addWindows([windowAt(1)])));
  await ran.until(sources.length);
  expect([...ran].sort()).toEqual([...sources].sort());
  expect(await queues.connectedBudgets('source7')).toEqual([60]);
  const client = new pg.Client({ connectionString: options.databaseUrl });
  await client.connect();
  const { rows } = await client.query(
    'select count(*)::int from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  await client.end();
  expect(rows[0].count).toBeLessThanOrEqual(7);
});
