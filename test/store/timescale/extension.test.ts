import { expect, it, onTestFinished } from 'vitest';
import { assertMigrated, migrate } from '../../../schema/migrate.ts';
import { explainDatabaseError } from '../../../store/db/failure.ts';
import { isTooOld } from '../../../store/timescale/extension.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { connect, openEmptyDatabase } from '../open-store.ts';

it.each([
  [false, ['2.28.0', '2.28.3', '2.28.0-dev', '2.28', '2.30.1', '2.100.0', '3.0.0', '10.2.0']],
  [true, ['2.27.9', '2.3.0', '2.9.1', '1.28.0', '1.99', '0.28.3', '', 'unknown', '2', '-2.28']],
])('takes for too old (%s): %j', (isOld, versions) => {
  expect(versions.filter((version) => isTooOld(version) !== isOld)).toEqual([]);
});

async function migrated(on: 'main' | 'plain') {
  const database = await openEmptyDatabase(on);
  const up = () => migrate({ url: database.url, direction: 'up', ifBusy: 'wait' });
  await up();
  return { database, up };
}

describeNeeding('timescale', 'a database with TimescaleDB', () => {
  it('is refused by every command while the library is not loaded: its tables would look empty', async () => {
    const { database, up } = await migrated('main');
    await database.pool.query(`insert into tidemark.candle_points values (1, '2024-01-01', 1, 1, 1, 1, 1)`);
    const name = new URL(database.url).pathname.slice(1);
    await database.pool.query(`alter database ${name} set timescaledb.disable_load = 'on'`);
    const unloaded = connect(database.url, 1);
    onTestFinished(() => unloaded.close());
    for (const refused of [() => assertMigrated(unloaded.pool), up])
      await expect(refused()).rejects.toMatchObject({ code: 'TIMESCALE_NOT_LOADED' });
  });

  it("names the cause when the server lacks the library of the database's version", async () => {
    const { database, up } = await migrated('main');
    await database.pool.query(`update pg_extension set extversion = '2.99.0' where extname = 'timescaledb'`);
    expect(await up().catch(explainDatabaseError)).toMatchObject({
      code: 'TIMESCALE_NOT_LOADED',
      message: expect.stringContaining('2.99.0'),
    });
  });
});

describeNeeding('plainPostgres', 'a server without TimescaleDB', () => {
  it.each([
    ['2.27.2', 'TIMESCALE_TOO_OLD', "upgrade the server's TimescaleDB package"],
    ['2.28.3', 'TIMESCALE_NOT_LOADED', 'shared_preload_libraries'],
  ])('refuses a database of TimescaleDB %s with %s and what to do', async (version, code, remedy) => {
    const { database } = await migrated('plain');
    // As after the server's package was removed, or another server took over the files.
    await database.pool.query(
      `insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
       select 99999, 'timescaledb', extowner, extnamespace, false, $1 from pg_extension where extname = 'plpgsql'`,
      [version],
    );
    const refusal = { code, message: expect.stringContaining(version), remedy: expect.stringContaining(remedy) };
    await expect(assertMigrated(database.pool)).rejects.toMatchObject(refusal);
    for (const direction of ['up', 'down'] as const) {
      await expect(migrate({ url: database.url, direction, ifBusy: 'wait' })).rejects.toMatchObject(refusal);
    }
  });
});
