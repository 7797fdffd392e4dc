import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { minuteMs } from '../../../contract/intervals.ts';
import { type Database, openDatabase } from '../../../store/db/database.ts';
import { assertMigrated, migrate } from '../../../store/db/migrate.ts';
import { refreshRollups } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { applyDerived, derivedObjects, dropDerived } from '../../../store/views/apply.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createTestDatabase } from '../../parts/test-database.ts';
import { candles, expectRollupsToAgree, market, put } from './candles.ts';

async function emptyDatabase(): Promise<Database> {
  const { url, drop } = await createTestDatabase();
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 4,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  return database;
}

const up = ({ url }: Database) => migrate({ url, direction: 'up', ifBusy: 'wait' });
const down = ({ url }: Database) => migrate({ url, direction: 'down', ifBusy: 'wait' });
const forget = (database: Database) =>
  database.pool.query(`update tidemark.settings set value = 'older' where name = 'derived: rollups'`);

/** Each rollup's object id, which changes when it is recreated. */
async function rollups(database: Database) {
  const result = await database.pool.query<{ name: string; id: string }>(
    `select relname as name, oid::text as id from pg_class
     where relnamespace = 'tidemark'::regnamespace and relname like 'rollup\\_%' order by 1`,
  );
  return result.rows;
}

describe('derived objects', () => {
  it('are created once, and again only when one differs or is missing', async () => {
    const database = await emptyDatabase();
    expect((await up(database)).at(-1)).toBe('views and rollups');
    const made = await rollups(database);
    expect(made).toHaveLength(10);
    expect(await up(database)).toEqual([]);

    await database.pool.query('drop view public.latest_rates');
    expect(await up(database)).toEqual(['views and rollups']);
    await database.pool.query('select from latest_rates');
    await database.pool.query(
      `update tidemark.settings set value = 'older' where name = 'derived: views and functions'`,
    );
    await expect(assertMigrated(database.pool)).rejects.toMatchObject({ code: 'DATABASE_NOT_MIGRATED' });
    expect(await up(database)).toEqual(['views and rollups']);
    await assertMigrated(database.pool);
    expect(await rollups(database)).toEqual(made);

    await forget(database);
    expect(await up(database)).toEqual(['views and rollups']);
    const remade = await rollups(database);
    expect(remade).toHaveLength(10);
    expect(remade.filter(({ id }) => made.some((one) => one.id === id))).toEqual([]);
  });

  it('restore grants on recreated rollups', async () => {
    const database = await emptyDatabase();
    await up(database);
    const role = `reader_${randomBytes(4).toString('hex')}`;
    await database.pool.query(`create role ${role}; grant usage on schema tidemark to ${role};
      grant select on all tables in schema tidemark to ${role}`);
    onTestFinished(async () => {
      await database.pool.query(`drop owned by ${role}; drop role ${role}`);
    });
    await forget(database);
    await up(database);
    const client = await database.pool.connect();
    try {
      await client.query(`set role ${role}`);
      expect((await client.query('select * from tidemark.rollup_w1')).rows).toEqual([]);
      await expect(client.query('delete from tidemark.candle_points')).rejects.toThrow(/permission denied/);
    } finally {
      await client.query('reset role');
      client.release();
    }
  });

  it('are created by one of several migrations at the same time', async () => {
    const database = await emptyDatabase();
    const ran = await Promise.all([up(database), up(database), up(database)]);
    expect(ran.flat().filter((name) => name === 'views and rollups')).toHaveLength(1);
    expect(await rollups(database)).toHaveLength(10);
  });

  it('all have a name that finds them', async () => {
    const database = await emptyDatabase();
    await up(database);
    for (const { name } of derivedObjects(false)) {
      const found = await database.pool.query<{ found: boolean }>(
        'select coalesce(to_regclass(case when $1 not like $2 then $1 end)::oid, to_regprocedure(case when $1 like $2 then $1 end)::oid) is not null as found',
        [name, '%(%'],
      );
      expect(found.rows, name).toEqual([{ found: true }]);
    }
  });

  it("keep a user's view on candles, and name one that depends on a rollup", async () => {
    const database = await emptyDatabase();
    await up(database);
    await database.pool.query('create view public.mine as select * from public.candles');
    await forget(database);
    expect(await up(database)).toEqual(['views and rollups']);
    await database.pool.query('select * from mine');

    await database.pool.query('create view public.weekly as select * from tidemark.rollup_w1');
    await forget(database);
    const before = await rollups(database);
    await expect(up(database)).rejects.toMatchObject({
      code: 'VIEW_IN_THE_WAY',
      message: expect.stringMatching(/^view weekly depends on .*, which has to be recreated$/),
    });
    expect(await rollups(database)).toEqual(before);
    await expect(down(database)).rejects.toMatchObject({
      code: 'VIEW_IN_THE_WAY',
      message: expect.stringMatching(/view mine depends/),
    });
    await database.pool.query('drop view weekly, mine');
    expect(await up(database)).toEqual(['views and rollups']);
  });
});

describeNeeding('timescale', 'a database without the extension at first', () => {
  it('gets continuous aggregates instead of views once its points are a hypertable', async () => {
    const database = await emptyDatabase();
    await up(database);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    onTestFinished(() => client.end());
    await dropDerived(client);
    await client.query(`
      create table tidemark.plain_points (like tidemark.candle_points including all);
      drop table tidemark.candle_points;
      alter table tidemark.plain_points rename to candle_points`);
    expect(await applyDerived(client)).toBe(true);
    expect(await applyDerived(client)).toBe(false);
    await client.query('create view public.mine as select * from public.candles');
    const { seriesId } = await trackSeries(database, market('a', 'm1'), 0, null);
    await put(database, seriesId, candles(Date.UTC(2024, 0, 1), 7 * minuteMs, 500));
    await expectRollupsToAgree(database);
    const aggregates = () =>
      client.query(
        `select from timescaledb_information.continuous_aggregates where view_schema = 'tidemark'`,
      );
    expect((await aggregates()).rowCount).toBe(0);
    expect(await refreshRollups(database, { nowMs: Date.UTC(2024, 6, 1) })).toBe(true);
    const derived = `select base, interval, time, high::text, derived_from from mine order by 1, 2, 3`;
    const before = await client.query(derived);

    await client.query(
      `select create_hypertable('tidemark.candle_points', by_range('time'), migrate_data => true)`,
    );
    expect(await applyDerived(client)).toBe(true);
    expect((await aggregates()).rowCount).toBe(10);
    await refreshRollups(database, { nowMs: Date.UTC(2024, 6, 1) });
    await expectRollupsToAgree(database);
    expect((await client.query(derived)).rows).toEqual(before.rows);
    expect(before.rows.length).toBeGreaterThan(500);
  });
});
