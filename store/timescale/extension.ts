/** The TimescaleDB extension of a database: whether it is there, loaded, and new enough. */

import type pg from 'pg';
import { codeOf, TidemarkError } from '../../errors.ts';
import { nullable, statement, text } from '../db/statement.ts';

/** First supported release. Its storage is what Tidemark is tested on. */
const minVersion = Object.freeze({ major: 2, minor: 28 });
const minTimescale = `${minVersion.major}.${minVersion.minor}`;

/** Whether a version such as `2.27.1` or `2.28.0-dev` is too old. An unreadable version is. */
export function isTooOld(version: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)(?!\d)/.exec(version) ?? [];
  if (major === undefined) return true;
  return Number(major) < minVersion.major || (Number(major) === minVersion.major && Number(minor) < minVersion.minor);
}

/** The remedy for an extension that is too old. @param available the version that the server offers, or null. */
function upgradeRemedy(available: string | null): string {
  const update = '`alter extension timescaledb update` as the first statement of a new `psql -X` session';
  return available !== null && !isTooOld(available)
    ? `the server has ${available}: run ${update}`
    : `upgrade the server's TimescaleDB package to ${minTimescale} or newer, then run ${update}`;
}

/** The extension's version in this database; null: no extension, and plain tables. */
export async function timescaleVersion(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const [found] = await extension.on(client, {});
  return found?.version ?? null;
}

/** The schema of the extension's functions, quoted; null without the extension. */
export async function timescaleSchema(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const [found] = await extension.on(client, {});
  return found?.schema ?? null;
}

const extension = statement({
  name: 'timescale-extension',
  isPlannedAnew: true,
  text: `select extversion as version, quote_ident(nspname) as schema
         from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'timescaledb'`,
  row: { version: text, schema: text },
});

/**
 * Drops the chunks of a table of the schema `tidemark` that end at or before a time.
 *
 * @returns false where the table is plain, with nothing done.
 */
export async function dropChunks(client: pg.ClientBase | pg.Pool, table: string, before: string): Promise<boolean> {
  if (!(await isHypertable(client, table))) return false;
  await client.query('select tidemark.drop_chunks_before($1, $2)', [table, before]);
  return true;
}

/** Whether a table of the schema `tidemark` is a hypertable. */
export async function isHypertable(client: pg.ClientBase | pg.Pool, table: string): Promise<boolean> {
  if ((await timescaleVersion(client)) === null) return false;
  return (await listHypertables(client)).has(table);
}

/** The hypertables of the schema `tidemark`, in a database that has the extension. */
export async function listHypertables(client: pg.ClientBase | pg.Pool): Promise<ReadonlySet<string>> {
  const rows = await hypertables.on(client, {});
  return new Set(rows.map(({ name }) => name));
}

const hypertables = statement({
  name: 'hypertables',
  isPlannedAnew: true,
  text: `select hypertable_name::text as name from timescaledb_information.hypertables
         where hypertable_schema = 'tidemark'`,
  row: { name: text },
});

/**
 * Refuses a database with an unusable TimescaleDB. Without its library hypertables look like empty tables.
 *
 * @throws TidemarkError TIMESCALE_TOO_OLD, TIMESCALE_NOT_LOADED.
 */
export async function assertTimescaleUsable(client: pg.ClientBase | pg.Pool): Promise<void> {
  const version = await timescaleVersion(client);
  if (version === null) return;
  if (isTooOld(version)) {
    throw new TidemarkError(
      'TIMESCALE_TOO_OLD',
      `the database has TimescaleDB ${version}, and Tidemark needs ${minTimescale} or newer`,
      { remedy: upgradeRemedy(await availableVersion(client)) },
    );
  }
  // This setting comes from the extension's own library, not from the loader.
  const loaded = await client.query(`select from pg_settings where name = 'timescaledb.license'`);
  if (loaded.rowCount === 0) {
    throw new TidemarkError(
      'TIMESCALE_NOT_LOADED',
      `the database has hypertables of TimescaleDB ${version}, and the server has not loaded it`,
    );
  }
}

/** Creates the extension where the server has loaded a supported version. Elsewhere the tables are plain. */
export async function createExtension(client: pg.ClientBase): Promise<void> {
  // Every role may see the settings of the preloaded library. Not every role may see shared_preload_libraries.
  const loaded = await client.query(`select from pg_settings where name = 'timescaledb.disable_load'`);
  if (loaded.rowCount === 0) return;
  const available = await availableVersion(client);
  if (available === null || isTooOld(available)) return;
  // Another start may create it at the same time, and a role without the privilege works without it. The schema is
  // `public`: a role called tidemark would otherwise create it in its own schema, where no other role looks.
  await client.query('create extension if not exists timescaledb schema public').catch((error: unknown) => {
    if (!['23505', '42710', '42501'].includes(String(codeOf(error)))) throw error;
  });
}

/** The version that `create extension` would create; null where the server has none. */
async function availableVersion(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const [found] = await available.on(client, {});
  return found?.version ?? null;
}

const available = statement({
  name: 'available-timescale',
  isPlannedAnew: true,
  text: `select default_version as version from pg_available_extensions where name = 'timescaledb'`,
  row: { version: nullable(text) },
});
