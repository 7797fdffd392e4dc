import { expect, it, onTestFinished } from 'vitest';
import { dayMs, minuteMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { assertMigrated, migrate } from '../../../schema/migrate.ts';
import { readConfig } from '../../../settings/config.ts';
import type { Database } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { timescaleVersion } from '../../../store/timescale/extension.ts';
import { hypertables } from '../../../store/timescale/hypertables.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { commitPoints, commitRatesOf, storedPoints } from '../committing.ts';
import { connect, openEmptyDatabase } from '../open-store.ts';

const { storage } = readConfig({});
const market: SeriesKey = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'm1' };
const asset: SeriesKey = { dataset: 'asset_history', assetId: 'a', interval: 'd1' };
const startMs = Date.UTC(2024, 0, 1);
const day = (index: number) => ({ startMs: startMs + index * dayMs, endMs: startMs + (index + 1) * dayMs });

/** A database of TimescaleDB's server, and a role that may not create the extension there. */
async function restrictedDatabase() {
  const admin = await openEmptyDatabase();
  const role = `owner_${new URL(admin.url).pathname.slice(-8)}`;
  await admin.pool.query(
    `create role ${role} login password 'owner';
     create schema tidemark authorization ${role};
     grant create on schema public to ${role}`,
  );
  const database = connect(admin.url.replace(/\/\/[^@]*@/, `//${role}:owner@`), 4);
  onTestFinished(async () => {
    await database.close();
    await admin.pool.query(`drop owned by ${role} cascade; drop role ${role}`);
  });
  return { admin, database };
}

async function up(database: Database, settings = storage): Promise<string[]> {
  const changes: string[] = [];
  const onAdapted = (line: string) => changes.push(line);
  await migrate({ url: database.url, direction: 'up', ifBusy: 'wait', storage: settings, onAdapted });
  return changes;
}

async function linesOf(database: Database, sql: string): Promise<string[]> {
  const result = await database.pool.query<{ line: string }>(`select t::text as line from (${sql}) t order by 1`);
  return result.rows.map(({ line }) => line);
}
/** Every row of a table as text, in order. */
const rowsOf = (database: Database, table: string) => linesOf(database, `select * from tidemark.${table}`);
const indexesOf = (database: Database) =>
  linesOf(database, `select indexdef from pg_indexes where schemaname = 'tidemark'`);

async function chunkDaysOf(database: Database): Promise<Record<string, number>> {
  const result = await database.pool.query<{ name: string; days: number }>(
    `select hypertable_name as name, (extract(epoch from time_interval) / 86400)::int as days
     from timescaledb_information.dimensions where hypertable_schema = 'tidemark' order by 1`,
  );
  return Object.fromEntries(result.rows.map(({ name, days }) => [name, days]));
}

describeNeeding('timescale', 'migrate, on TimescaleDB', () => {
  it('converts a plain database without losing a row, and it accepts points afterwards', async () => {
    const { admin, database } = await restrictedDatabase();
    expect(await up(database)).toEqual([]);
    expect(await timescaleVersion(database.pool)).toBeNull();
    const candles = { ...(await trackSeries(database, market, startMs, null)), series: market };
    const history = { ...(await trackSeries(database, asset, startMs, null)), series: asset };
    for (let index = 0; index < 40; index += 4) await commitPoints(database, { ...candles, window: day(index) });
    const changed = new Map([[day(4).startMs, '1.10']]);
    await commitPoints(database, { ...candles, window: day(4), changed });
    await commitPoints(database, { ...history, window: { startMs, endMs: day(600).endMs } });
    await commitRatesOf(database, startMs, { euro: '1.0800' });
    const tables = [...hypertables.map(({ name }) => name), 'series', 'currencies', 'pending_windows'];
    const before = new Map<string, string[]>();
    for (const table of tables) before.set(table, await rowsOf(database, table));
    expect(before.get('point_revisions')).toHaveLength(1);
    const indexes = await indexesOf(database);

    // Without a schema: it goes where the administrator's search path begins.
    await admin.pool.query('create extension timescaledb');
    // Its jobs would run at once, and a read beside them may end in a deadlock.
    await admin.pool.query('select _timescaledb_functions.stop_background_workers()');
    const changes = await up(database);
    for (const { name } of hypertables) {
      expect(changes).toContainEqual(expect.stringContaining(`converted tidemark.${name} to a hypertable`));
    }
    for (const table of tables) expect(await rowsOf(database, table)).toEqual(before.get(table));
    expect(await indexesOf(database)).toEqual(expect.arrayContaining(indexes));
    // No rows are left outside the chunks.
    for (const { name } of hypertables) {
      const outside = await database.pool.query(`select from only tidemark.${name}`);
      expect(outside.rowCount).toBe(0);
    }
    expect(await up(database)).toEqual([]);
    await assertMigrated(database.pool);

    expect(await commitPoints(database, { ...candles, window: day(4) })).toMatchObject({ changed: 1 });
    expect(await commitPoints(database, { ...candles, window: day(5) })).toMatchObject({ fresh: 1440 });
    expect(await commitPoints(database, { ...candles, window: day(8) })).toMatchObject({ unchanged: 1440 });
    expect((await storedPoints(database, candles)).size).toBe(11 * 1440);
  });

  it('leaves every table plain when one of them cannot be converted', async () => {
    const { admin, database } = await restrictedDatabase();
    await up(database);
    await admin.pool.query('create extension timescaledb');
    // A hypertable cannot have a unique constraint without its time.
    await database.pool.query('alter table tidemark.rate_points add constraint one unique (currency_id)');
    await expect(up(database)).rejects.toThrow(/unique/);
    expect(await chunkDaysOf(database)).toEqual({});
    await database.pool.query('alter table tidemark.rate_points drop constraint one');
    expect(await up(database)).not.toEqual([]);
  });

  it('keeps the length of chunks that was set in SQL, and removes the columnstore policies', async () => {
    const database = await openEmptyDatabase();
    await up(database);
    const of = { ...(await trackSeries(database, market, startMs, null)), series: market };
    await commitPoints(database, { ...of, window: day(0) });
    const chunks = () =>
      linesOf(
        database,
        `select (extract(epoch from range_end - range_start) / 86400)::int || ' days'
         from timescaledb_information.chunks where hypertable_name = 'candle_points'`,
      );
    expect(await chunks()).toEqual(['("30 days")']);
    await database.pool.query("select set_chunk_time_interval('tidemark.candle_points', interval '10 days')");
    expect(await up(database)).toEqual([]);
    const changed = { columnstoreAfterDays: 0, columnstoreChunkDays: 0 };
    expect(await up(database, changed)).toHaveLength(hypertables.filter(({ segmentBy }) => segmentBy !== null).length);
    expect(await up(database, changed)).toEqual([]);
    expect(await chunkDaysOf(database)).toMatchObject({ candle_points: 10, asset_history_points: 90, rate_points: 30 });
    await commitPoints(database, { ...of, window: day(100) });
    expect(await chunks()).toEqual(['("10 days")', '("30 days")']);
    const policies = await database.pool.query(
      `select from timescaledb_information.jobs where proc_name = 'policy_compression'`,
    );
    expect(policies.rowCount).toBe(0);
    expect((await storedPoints(database, of)).get(day(0).startMs + minuteMs)).toBeDefined();
  });
});
