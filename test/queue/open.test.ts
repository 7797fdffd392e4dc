import { expect, inject, onTestFinished, test } from 'vitest';
import { migrateQueueBackend, openQueueBackend } from '../../queue/backend.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { freePort } from '../parts/free-port.ts';
import { createTestDatabase } from '../parts/test-database.ts';
import { silent } from './queue-parts.ts';

const options = { namespace: 'tidemark', attempts: 3, log: silent };

test('a Redis that is not there is said to be so, without its password', async () => {
  const redisUrl = `redis://:secret@127.0.0.1:${await freePort()}`;
  const opening = openQueueBackend({ ...options, redisUrl, databaseUrl: 'postgres://127.0.0.1:1/none' });
  await expect(opening).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' });
  await expect(opening).rejects.toThrow(/Redis at 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  await expect(opening).rejects.not.toThrow(/secret/);
});

describeNeeding('redis', 'a database that Redis does not have', () => {
  test('is said to be so, and not replaced by another', async () => {
    const redisUrl = `${inject('redisUrl')}/999`;
    const opening = openQueueBackend({ ...options, redisUrl, databaseUrl: 'postgres://127.0.0.1:1/none' });
    await expect(opening).rejects.toMatchObject({
      code: 'QUEUE_UNREACHABLE',
      message: expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+: ERR DB index is out of range$/),
    });
  });
});

test('a PostgreSQL that is not there is said to be so', async () => {
  const databaseUrl = `postgres://tidemark:secret@127.0.0.1:${await freePort()}/tidemark`;
  const opening = openQueueBackend({ ...options, databaseUrl });
  await expect(opening).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
  await expect(opening).rejects.not.toThrow(/secret/);
});

test("the queue's schema comes and goes with the migrations", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const target = { databaseUrl: database.url, namespace: options.namespace };
  const opening = () => openQueueBackend({ ...options, ...target });

  await expect(opening()).rejects.toMatchObject({ code: 'DATABASE_NOT_MIGRATED' });
  await Promise.all([migrateQueueBackend(target, 'up'), migrateQueueBackend(target, 'up')]);
  await (await opening()).close();
  await migrateQueueBackend(target, 'down');
  await expect(opening()).rejects.toMatchObject({ code: 'DATABASE_NOT_MIGRATED' });
  await migrateQueueBackend(target, 'up');
  await (await opening()).close();
});

test('settings in the address of the database are kept beside those of the queue', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const url = new URL(database.url);
  url.searchParams.set('options', '-c timezone=UTC');
  const target = { databaseUrl: url.href, namespace: options.namespace };
  await migrateQueueBackend(target, 'up');
  const queues = await openQueueBackend({ ...options, ...target });
  expect(await queues.requests.depth()).toEqual({ waiting: 0, active: 0, delayed: 0 });
  await queues.close();
});
