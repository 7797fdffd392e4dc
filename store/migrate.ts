/** Brings the schema up to date, or takes it back. */

import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { TidemarkError } from '../errors.ts';
import { applyDerived, areDerivedCurrent, dropDerived } from './derived/apply.ts';

/** Beside `store/` in the sources and in the build alike. */
const directory = join(dirname(fileURLToPath(import.meta.url)), '..', 'migrations');

/** Last of the migrations that this version knows: the schema it works with. */
export const newestMigration = newestIn(directory);

export interface MigrateOptions {
  readonly url: string;
  readonly direction: 'up' | 'down';
  /** Whether to wait for another migration that runs, or to refuse. */
  readonly ifBusy: 'wait' | 'refuse';
}

/** What `migrate` calls the objects of `derived/` among the names of migrations. */
const derivedName = 'views and rollups';

/**
 * Runs every pending migration, or takes all of them back, in one transaction; then, or before that, the views and
 * rollups that are derived from the tables.
 *
 * @returns the names of what ran.
 * @throws TidemarkError MIGRATION_RUNNING, DATABASE_TOO_OLD, VIEW_IN_THE_WAY.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'tidemark migrate',
    connectionTimeoutMillis: 10_000,
  });
  // An error that comes while no query runs would end the process; the next query reports it.
  client.on('error', () => {});
  await client.connect();
  try {
    await refuseOldServer(client);
    if (options.direction === 'up') await createExtension(client);
    await client.query('create schema if not exists tidemark');
    const names: string[] = [];
    if (options.direction === 'down' && (await dropDerived(client))) names.push(derivedName);
    const migrations = await runner({
      dbClient: client,
      dir: directory,
      ignorePattern: '.*\\.(map|d\\.ts)',
      direction: options.direction,
      count: Number.POSITIVE_INFINITY,
      migrationsSchema: 'tidemark',
      migrationsTable: 'migrations',
      singleTransaction: true,
      advisoryLockMode: options.ifBusy === 'wait' ? 'wait' : 'fail',
      log: () => {},
    });
    names.push(...migrations.map((migration) => migration.name));
    if (options.direction === 'up' && (await applyDerived(client))) names.push(derivedName);
    return names;
  } catch (error) {
    if (error instanceof Error && /another migration is already running/i.test(error.message)) {
      throw new TidemarkError('MIGRATION_RUNNING', 'another migration of this database is running', {
        cause: error,
      });
    }
    throw error;
  } finally {
    await client.end();
  }
}

/** @throws TidemarkError DATABASE_NOT_MIGRATED unless the schema is the one this version works with. */
export async function assertMigrated(pool: pg.Pool): Promise<void> {
  const known = await pool.query<{ present: boolean }>(
    `select to_regclass('tidemark.migrations') is not null as present`,
  );
  if (known.rows[0]?.present) {
    const newest = await pool.query<{ name: string }>(
      'select name from tidemark.migrations order by id desc limit 1',
    );
    if (newest.rows[0]?.name === newestMigration) {
      if (await areDerivedCurrent(pool)) return;
      throw new TidemarkError(
        'DATABASE_NOT_MIGRATED',
        'the views and rollups are not the ones that this version of Tidemark works with',
      );
    }
    const found = newest.rows[0]?.name ?? 'nothing';
    throw new TidemarkError(
      'DATABASE_NOT_MIGRATED',
      `the database is at ${found}, and this version of Tidemark works with ${newestMigration}`,
    );
  }
  throw new TidemarkError('DATABASE_NOT_MIGRATED', 'the database holds no Tidemark schema');
}

/** `UNIQUE NULLS NOT DISTINCT` needs 15. */
async function refuseOldServer(client: pg.Client): Promise<void> {
  const result = await client.query<{ number: string; version: string }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version`,
  );
  const row = result.rows[0];
  if (Number(row?.number) < 150_000) {
    throw new TidemarkError('DATABASE_TOO_OLD', `the server is PostgreSQL ${row?.version}`);
  }
}

/** Takes TimescaleDB into use where the server has it loaded; elsewhere the tables are plain. */
async function createExtension(client: pg.Client): Promise<void> {
  // The preloaded library has settings that every role may see; shared_preload_libraries itself not every one may.
  const loaded = await client.query(`select from pg_settings where name = 'timescaledb.disable_load'`);
  if (loaded.rowCount === 0) return;
  // Another start may create it at the same moment; a role that may not create it works with what is there.
  await client.query('create extension if not exists timescaledb').catch((error: unknown) => {
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    if (code !== '23505' && code !== '42710' && code !== '42501') throw error;
  });
}

function newestIn(folder: string): string {
  const names = readdirSync(folder).map((file) => /^(\d{4}_\w+)\.[jt]s$/.exec(file)?.[1] ?? '');
  const newest = names.sort().at(-1);
  if (newest === undefined || newest === '') throw new Error(`no migrations at ${folder}`);
  return newest;
}
