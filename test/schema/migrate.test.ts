import { describe, expect, inject, it } from 'vitest';
import { assertMigrated, migrate } from '../../schema/migrate.ts';
import type { Database } from '../../store/db/database.ts';
import { openEmptyDatabase } from '../store/open-store.ts';

async function objects({ pool }: Database) {
  const result = await pool.query<{ name: string }>(
    `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where (n.nspname = 'tidemark' or (n.nspname = 'public' and c.relkind = 'v')) and c.relkind in ('r', 'v')
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
     order by 1`,
  );
  return result.rows.map((row) => row.name);
}

const up = ({ url }: Database) => migrate({ url, direction: 'up', ifBusy: 'wait' });

describe('migrate', () => {
  it('migrates up, down and up again, leaving nothing behind in between, and sets what its role does not set itself', async () => {
    const database = await openEmptyDatabase();
    const name = new URL(database.url).pathname.slice(1);
    const down = () => migrate({ url: database.url, direction: 'down', ifBusy: 'wait' });
    const isRefused = () =>
      expect(assertMigrated(database.pool)).rejects.toMatchObject({ code: 'DATABASE_NOT_MIGRATED' });
    const alter = (setting: string) => database.pool.query(`alter role current_user in database ${name} ${setting}`);
    /** JIT, bitmap scans and the batches of the columnstore, of the role in this database. */
    async function settings(): Promise<string[]> {
      const { rows } = await database.pool.query<{ set: string }>(
        `select unnest(setconfig) as set from pg_db_role_setting s join pg_database d on d.oid = setdatabase
         where d.datname = current_database() and setrole = current_user::regrole order by 1`,
      );
      return rows.map(({ set }) => set);
    }
    const batches = (rows: number) =>
      inject('hasTimescale') ? [`timescaledb.compression_batch_size_limit=${rows}`] : [];
    // The server of the test may have it off for everybody.
    await database.pool.query(`alter database ${name} set jit = on`);
    await isRefused();
    const names = await up(database);
    expect(names.length).toBeGreaterThan(0);
    await assertMigrated(database.pool);
    const migrated = await objects(database);
    expect(migrated).toContain('public.candles');
    expect(await up(database)).toEqual([]);
    expect(await settings()).toEqual(['enable_bitmapscan=off', 'jit=off', 'random_page_cost=1.1', ...batches(3000)]);

    expect(await down()).toEqual([...names].reverse());
    expect(await objects(database)).toEqual(['tidemark.migrations']);
    expect(await settings()).toEqual([]);
    await isRefused();

    const own = ['enable_bitmapscan=on', 'jit=on', 'random_page_cost=2', ...batches(500)];
    for (const setting of own) await alter(`set ${setting}`);
    await up(database);
    expect([await objects(database), await settings()]).toEqual([migrated, own]);
    await down();
    expect(await settings()).toEqual(own);
    await alter('reset all');
  });

  it('works for an owner that is not a superuser, and uses TimescaleDB where it is loaded', async () => {
    const database = await openEmptyDatabase();
    const role = `owner_${new URL(database.url).pathname.slice(-8)}`;
    const name = new URL(database.url).pathname.slice(1);
    await database.pool.query(`create role ${role} login password 'owner'`);
    await database.pool.query(`alter database ${name} owner to ${role}`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'owner';
    expect((await migrate({ url: url.href, direction: 'up', ifBusy: 'wait' })).length).toBeGreaterThan(0);
    const extension = await database.pool.query(`select from pg_extension where extname = 'timescaledb'`);
    expect(extension.rowCount).toBe(inject('hasTimescale') ? 1 : 0);
    await database.pool.query(`reassign owned by ${role} to current_user`);
    await database.pool.query(`drop owned by ${role}`);
    await database.pool.query(`alter database ${name} owner to current_user`);
    await database.pool.query(`drop role ${role}`);
  });

  it('refuses a second migration at the same time, and the first completes', async () => {
    const database = await openEmptyDatabase();
    const holder = await database.pool.connect();
    // node-pg-migrate's lock, held as by a long migration.
    await holder.query('select pg_advisory_lock(7241865325823964)');
    await expect(migrate({ url: database.url, direction: 'up', ifBusy: 'refuse' })).rejects.toMatchObject({
      code: 'MIGRATION_RUNNING',
    });
    const waiting = up(database);
    await holder.query('select pg_advisory_unlock(7241865325823964)');
    holder.release();
    expect((await waiting).length).toBeGreaterThan(0);
    await assertMigrated(database.pool);
  });

  it('runs all migrations or none', async () => {
    const database = await openEmptyDatabase();
    await database.pool.query('create view public.rates as select 1 as taken');
    await expect(up(database)).rejects.toThrow(/rates/);
    expect(await objects(database)).toEqual(['public.rates']);
  });
});
