import { expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../schema/migrate.ts';
import { copyData } from '../../../store/commit/write-points.ts';
import { type Database, disableTimeouts, inTransaction, openDatabase } from '../../../store/db/database.ts';
import { explainDatabaseError } from '../../../store/db/failure.ts';
import { createTestDatabase } from '../../parts/test-database.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';

const statementTimeoutMs = 1000;

async function behindProxy() {
  const { url, drop } = await createTestDatabase();
  onTestFinished(() => drop());
  const proxy = await proxyTo(url);
  const database = openDatabase({
    url: proxy.url,
    applicationName: 'tidemark test',
    maxConnections: 3,
    statementTimeoutMs,
    timeoutMarginMs: 500,
  });
  onTestFinished(async () => void (database.pool.ending || (await database.close())));
  await database.pool.query('create table numbers (number int)');
  return { proxy, database };
}

const noAnswer = /query read timeout/i;
const ask = async ({ pool }: Database) => (await pool.query('select 1 as one')).rows;

async function allConnected(database: Database): Promise<void> {
  await Promise.all(Array.from({ length: 3 }, () => database.pool.query('select pg_sleep(0.05)')));
  expect(database.pool.totalCount).toBe(3);
}

it('closes a connection without an answer, and idle ones, so that the next query gets a new one', async () => {
  const { proxy, database } = await behindProxy();
  await allConnected(database);
  proxy.freeze();
  await expect(ask(database)).rejects.toThrow(noAnswer);
  expect(await ask(database)).toEqual([{ one: 1 }]);
});

it('times out a transaction, and a COPY within it', async () => {
  const { proxy, database } = await behindProxy();
  for (const last of ['select 1', 'copy']) {
    const lost = inTransaction(database, async (client) => {
      await client.query('insert into numbers values (1)');
      proxy.freeze();
      if (last === 'copy') await copyData(client, 'copy numbers from stdin', [Buffer.from('2\n')]);
      else await client.query(last);
    });
    await expect(lost).rejects.toThrow(noAnswer);
    expect(database.pool.totalCount).toBe(0);
  }
  expect((await database.pool.query('select from numbers')).rowCount).toBe(0);
});

it('calls a server that takes no connection unreachable when a migration waits for it', async () => {
  const { proxy } = await behindProxy();
  proxy.hold();
  const migrating = migrate({ url: proxy.url, direction: 'up', ifBusy: 'wait', connectTimeoutMs: 50 });
  expect(await migrating.catch(explainDatabaseError)).toMatchObject({ code: 'DATABASE_UNREACHABLE' });
  proxy.resume();
});

it('waits for statements without a timeout, and only for those', async () => {
  const { database } = await behindProxy();
  const tooLong = 'select pg_sleep(1.5)';
  await inTransaction(database, async (client) => {
    await disableTimeouts(client);
    await client.query(tooLong);
  });
  // Of the same connection.
  expect(database.pool.totalCount).toBe(1);
  await expect(database.pool.query(tooLong)).rejects.toThrow(/statement timeout/);
});
