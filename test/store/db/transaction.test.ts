import { expect, it } from 'vitest';
import { inTransaction } from '../../../store/db/database.ts';
import { openOwnStore } from '../open-store.ts';

it('inTransaction throws when the server answers COMMIT with ROLLBACK, and keeps the connection', async () => {
  const { database } = await openOwnStore();
  await database.pool.query('create table kept (id int primary key)');
  const ended = inTransaction(database, async (client) => {
    await client.query('insert into kept values (1)');
    // The caller does not see this error, but the server has aborted the transaction.
    await client.query('insert into kept values (1)').catch(() => {});
    return 'stored';
  });
  await expect(ended).rejects.toThrow(/COMMIT.*ROLLBACK/);
  await inTransaction(database, (client) => client.query('insert into kept values (2)'));
  expect((await database.pool.query('select id from kept')).rows).toEqual([{ id: 2 }]);
  expect(database.pool.totalCount).toBe(1);
});
