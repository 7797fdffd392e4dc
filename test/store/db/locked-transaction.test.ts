import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { inLockedTransaction } from '../../../store/db/locked-transaction.ts';
import { createTestDatabase } from '../../parts/test-database.ts';

it('names the session that holds the lock of a migration for too long, and works again after it', async () => {
  const { url, drop } = await createTestDatabase();
  onTestFinished(drop);
  const connect = async (name: string) => {
    const client = new pg.Client({ connectionString: url, application_name: name });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  };
  const holder = await connect('a viewer');
  const client = await connect('migrate');
  await inLockedTransaction(holder, 'reader role', async () => {
    await expect(inLockedTransaction(client, 'reader role', async () => 1, 50)).rejects.toMatchObject({
      code: 'MIGRATION_RUNNING',
      message: expect.stringMatching(/^session \d+ of role \S+ \(a viewer\) holds its lock$/),
    });
  });
  const setting = () => client.query<{ lock_timeout: string }>('show lock_timeout');
  expect(await inLockedTransaction(client, 'reader role', setting, 50)).toMatchObject({
    rows: [{ lock_timeout: '0' }],
  });
});
