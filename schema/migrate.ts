/** Migrates the schema up to date, or back. */

import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { TidemarkError } from '../errors.ts';
import { readConfig, type StorageSettings } from '../settings/config.ts';
import { connectTimeoutMs } from '../store/db/database.ts';
import { inLockedTransaction } from '../store/db/locked-transaction.ts';
import { backendPid, bool, int4, statement, text } from '../store/db/statement.ts';
import { assertTimescaleUsable, createExtension, timescaleSchema } from '../store/timescale/extension.ts';
import { applyApi, dropApi, isApiCurrent } from './apply.ts';
import { adaptToTimescale } from './hypertables.ts';
import { closePublicFunctions, openPublicFunctions } from './public-functions.ts';
import { addRoleSettings, removeRoleSettings } from './role-settings.ts';
import { grantReader, revokeReader } from './roles.ts';

/** Beside `schema/` in the sources and in the build. */
const directory = join(dirname(fileURLToPath(import.meta.url)), '..', 'migrations');

/** The last migration of this version. */
const newestMigration = readdirSync(directory)
  .map((file) => /^(\d{4}_\w+)\.[jt]s$/.exec(file)?.[1] ?? '')
  .sort()
  .at(-1);
if (!newestMigration) throw new Error(`no migrations at ${directory}`);

export interface MigrateOptions {
  readonly url: string;
  readonly direction: 'up' | 'down';
  /** Whether to wait for another migration that runs, or to refuse. */
  readonly ifBusy: 'wait' | 'refuse';
  /** How long the server may take for a connection; 10 s by default. */
  readonly connectTimeoutMs?: number | undefined;
  /** Ends the session, which rolls everything back. */
  readonly signal?: AbortSignal;
  /** How TimescaleDB stores the points; absent: the defaults. */
  readonly storage?: StorageSettings;
  /** Called when the database has taken the connection. */
  readonly onConnected?: () => void;
  /** Called for each change that adapts the database to TimescaleDB. */
  readonly onAdapted?: (change: string) => void;
}

/** Stands for the objects of `schema/api/` among the names of migrations. */
const derivedName = 'views and rollups';

/**
 * Runs every pending migration, adapts the tables to TimescaleDB, where the database has it, and replaces the views and
 * functions; or reverts all of it. It is one transaction: an error or the end of the process changes nothing.
 *
 * @returns the names of the migrations that ran.
 * @throws TidemarkError MIGRATION_RUNNING, DATABASE_TOO_OLD, TIMESCALE_TOO_OLD, TIMESCALE_NOT_LOADED, VIEW_IN_THE_WAY.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'tidemark migrate',
    connectionTimeoutMillis: options.connectTimeoutMs ?? connectTimeoutMs,
  });
  // An error while no query runs would end the process; the next query reports it.
  client.on('error', () => {});
  await client.connect();
  options.onConnected?.();
  const isUp = options.direction === 'up';
  try {
    await assertServerVersion(client);
    if (isUp) await createExtension(client);
    await assertTimescaleUsable(client);
    await addExtensionToSearchPath(client);
    await createSchema(client);
    const transaction = () =>
      inLockedTransaction(
        client,
        'migration',
        () => (isUp ? migrateUp(client, options) : migrateDown(client)),
        options.ifBusy === 'wait' ? undefined : 1,
      );
    const names = await untilStopped(client, options, transaction);
    if (isUp) {
      await grantReader(client);
      await closePublicFunctions(client);
      await addRoleSettings(client);
    } else {
      await removeRoleSettings(client);
    }
    return names;
  } finally {
    await client.end();
  }
}

/** Runs `work`, and ends the session when the signal aborts: a long statement would go on after the process. */
async function untilStopped<Result>(
  client: pg.Client,
  { url, signal }: Pick<MigrateOptions, 'url' | 'signal'>,
  work: () => Promise<Result>,
): Promise<Result> {
  const { pid } = await backendPid.one(client, {});
  const end = async () => {
    const other = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
    other.on('error', () => {});
    await other.connect();
    await other.query('select pg_terminate_backend($1)', [pid]);
    await other.end();
  };
  const stop = () => void end().catch(() => {});
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await work();
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

async function migrateUp(client: pg.Client, options: MigrateOptions): Promise<string[]> {
  const names = await runMigrations(client, 'up');
  const { storage = readConfig({}).storage } = options;
  const changes = await adaptToTimescale(client, storage, names.includes('0001_store'));
  for (const change of changes) options.onAdapted?.(change);
  if (await applyApi(client)) names.push(derivedName);
  return names;
}

async function migrateDown(client: pg.Client): Promise<string[]> {
  await revokeReader(client);
  await openPublicFunctions(client);
  const names = (await dropApi(client)) ? [derivedName] : [];
  return [...names, ...(await runMigrations(client, 'down'))];
}

/** Runs within the caller's transaction, which holds the lock: the runner's own begin and commit are left out. */
async function runMigrations(client: pg.Client, direction: 'up' | 'down'): Promise<string[]> {
  // Loaded here: commands that only look at the schema's version start a fifth sooner without it.
  const { runner } = await import('node-pg-migrate');
  const dbClient = {
    query: async (text: string, values?: unknown[]) =>
      /^(?:BEGIN|COMMIT|ROLLBACK)$/.test(text) ? undefined : client.query(text, values),
  };
  const migrations = await runner({
    dbClient: dbClient as unknown as pg.Client,
    dir: directory,
    ignorePattern: '.*\\.(map|d\\.ts)',
    direction,
    count: Number.POSITIVE_INFINITY,
    migrationsSchema: 'tidemark',
    migrationsTable: 'migrations',
    singleTransaction: true,
    noLock: true,
    log: () => {},
  });
  return migrations.map((migration) => migration.name);
}

/**
 * @throws TidemarkError DATABASE_NOT_MIGRATED unless the schema is the one of this version;
 * TIMESCALE_TOO_OLD, TIMESCALE_NOT_LOADED when its hypertables cannot be read.
 */
export async function assertMigrated(pool: pg.Pool): Promise<void> {
  await assertTimescaleUsable(pool);
  const { present } = await hasMigrations.one(pool, {});
  if (!present) throw new TidemarkError('DATABASE_NOT_MIGRATED', 'the database holds no Tidemark schema');
  const found = (await lastMigration.on(pool, {}))[0]?.name;
  if (found !== newestMigration) {
    const state = found === undefined ? 'empty' : `at ${found}`;
    const message = `the database is ${state}, and this version of Tidemark needs ${newestMigration}`;
    throw new TidemarkError('DATABASE_NOT_MIGRATED', message);
  }
  if (await isApiCurrent(pool)) return;
  const message = 'the views and rollups belong to another version of Tidemark';
  throw new TidemarkError('DATABASE_NOT_MIGRATED', message);
}

const hasMigrations = statement({
  name: 'has-migrations',
  text: `select to_regclass('tidemark.migrations') is not null as present`,
  row: { present: bool },
});

const lastMigration = statement({
  name: 'last-migration',
  isPlannedAnew: true,
  text: 'select name::text from tidemark.migrations order by id desc limit 1',
  row: { name: text },
});

const serverVersion = statement({
  name: 'server-version',
  text: `select current_setting('server_version_num')::integer as number, current_setting('server_version') as version`,
  row: { number: int4, version: text },
});

/** `UNIQUE NULLS NOT DISTINCT` needs 15. */
async function assertServerVersion(client: pg.Client): Promise<void> {
  const { number, version } = await serverVersion.one(client, {});
  if (number < 150_000) throw new TidemarkError('DATABASE_TOO_OLD', `the server is PostgreSQL ${version}`);
}

/** Adds the extension's schema to this session's search path. */
async function addExtensionToSearchPath(client: pg.Client): Promise<void> {
  const schema = await timescaleSchema(client);
  if (schema === null) return;
  await client.query(`select set_config('search_path', current_setting('search_path') || ', ' || $1, false)`, [schema]);
}

/** The schema holds the list of migrations too, so it is created before their lock is taken. */
async function createSchema(client: pg.Client): Promise<void> {
  // `if not exists` needs the privilege to create a schema in any case, so this looks first.
  const present = await client.query(`select from pg_namespace where nspname = 'tidemark'`);
  if (present.rowCount === 1) return;
  await client.query('create schema if not exists tidemark').catch((error: unknown) => {
    // Another start has created it after this one looked.
    if (!(error instanceof pg.DatabaseError && (error.code === '23505' || error.code === '42P06'))) throw error;
  });
}
