import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../clock.ts';
import { migrateQueueBackend, openQueueBackend } from '../../queue/backend.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { freePort } from '../parts/free-port.ts';
import { createTestDatabase } from '../parts/test-database.ts';
import { proxyTo } from './cuttable-proxy.ts';
import { silent } from './queue-parts.ts';

const databaseUrl = 'postgres://127.0.0.1:1/none';
const options = { clock: systemClock, databaseUrl, namespace: 'tidemark', attempts: 3, log: silent };

test('an unreachable Redis is reported without its password', async () => {
  const redisUrl = `redis://:secret@127.0.0.1:${await freePort()}`;
  const opening = openQueueBackend({ ...options, redisUrl });
  await expect(opening).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' });
  await expect(opening).rejects.toThrow(/Redis at 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  await expect(opening).rejects.not.toThrow(/secret/);
});

describeNeeding('redis', 'a database that Redis does not have', () => {
  test('is reported, and not replaced by another', async () => {
    const redisUrl = `${inject('redisUrl')}/999`;
    const opening = openQueueBackend({ ...options, redisUrl });
    await expect(opening).rejects.toMatchObject({
      code: 'QUEUE_UNREACHABLE',
      message: expect.stringMatching(/^Redis at \S+:\d+: ERR DB index is out of range$/),
    });
  });
});

test('the error contains the reply of a Redis that refuses the connection, for example in protected mode', async () => {
  const words = 'DENIED Redis is running in protected mode because protected mode is enabled';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(`-${words}\r\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const opening = openQueueBackend({ ...options, redisUrl: `redis://127.0.0.1:${port}` });
  await expect(opening).rejects.toThrow(`Redis at 127.0.0.1:${port}: ${words}`);
});

test('an unreachable PostgreSQL is reported', async () => {
  const databaseUrl = `postgres://tidemark:secret@127.0.0.1:${await freePort()}/tidemark`;
  const opening = openQueueBackend({ ...options, databaseUrl });
  await expect(opening).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
  await expect(opening).rejects.not.toThrow(/secret/);
});

test('a PostgreSQL that takes long for a connection is waited for', async () => {
  const { url, drop } = await createTestDatabase();
  onTestFinished(drop);
  const proxy = await proxyTo(url);
  proxy.hold();
  const target = { ...options, databaseUrl: proxy.url };
  const hurried = openQueueBackend({ ...target, connectTimeoutMs: 50 });
  const patient = openQueueBackend({ ...target, connectTimeoutMs: 60_000 });
  await expect(hurried).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
  proxy.resume();
  await expect(patient).rejects.toMatchObject({ code: 'DATABASE_NOT_MIGRATED' });
});

test("the migrations create and drop the queue's schema", async () => {
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
