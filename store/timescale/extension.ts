/** The TimescaleDB extension of a database: whether it is there, loaded, and new enough. */

import type pg from 'pg';
import { TidemarkError } from '../../errors.ts';

/** First release whose storage is what Tidemark is written for and tested on. */
const least = Object.freeze({ major: 2, minor: 28 });
export const leastTimescale = `${least.major}.${least.minor}`;

/** Whether a version such as `2.27.1` or `2.28.0-dev` is too old. A text that is no version is. */
export function isTooOld(version: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)(?!\d)/.exec(version) ?? [];
  if (major === undefined) return true;
  return Number(major) < least.major || (Number(major) === least.major && Number(minor) < least.minor);
}

/** What to do about an extension that is too old. @param available what the server has to offer, or null. */
export function upgradeRemedy(available: string | null): string {
  const update = '`alter extension timescaledb update` as the first statement of a new `psql -X` session';
  return available !== null && !isTooOld(available)
    ? `the server has ${available}: run ${update}`
    : `upgrade the server's TimescaleDB package to ${leastTimescale} or newer, then run ${update}`;
}

/** The extension's version in this database; null: it has none, and its tables are plain. */
export async function timescaleVersion(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const result = await client.query<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'timescaledb'`,
  );
  return result.rows[0]?.version ?? null;
}

/** The schema of the extension's functions, quoted, wherever it was put; null without the extension. */
export async function timescaleSchema(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const result = await client.query<{ schema: string }>(
    `select quote_ident(nspname) as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
     where extname = 'timescaledb'`,
  );
  return result.rows[0]?.schema ?? null;
}

/**
 * Drops the chunks of a table of the schema `tidemark` that end at or before a time.
 *
 * @returns false, with nothing done, where the table is plain.
 */
export async function dropChunks(
  client: pg.ClientBase | pg.Pool,
  table: string,
  before: string,
): Promise<boolean> {
  if (!(await isHypertable(client, table))) return false;
  const schema = await timescaleSchema(client);
  await client.query(`select ${schema}.drop_chunks($1::regclass, $2::timestamptz)`, [
    `tidemark.${table}`,
    before,
  ]);
  return true;
}

/** Whether a table of the schema `tidemark` is kept in chunks. */
export async function isHypertable(client: pg.ClientBase | pg.Pool, table: string): Promise<boolean> {
  if ((await timescaleVersion(client)) === null) return false;
  const result = await client.query(
    `select from timescaledb_information.hypertables
     where hypertable_schema = 'tidemark' and hypertable_name = $1`,
    [table],
  );
  return result.rowCount === 1;
}

/**
 * Refuses a database whose TimescaleDB cannot be worked with. Without its library hypertables look like tables
 * without a row, and that must not be taken for an answer.
 *
 * @throws TidemarkError TIMESCALE_TOO_OLD, TIMESCALE_NOT_LOADED.
 */
export async function assertTimescaleUsable(client: pg.ClientBase | pg.Pool): Promise<void> {
  const version = await timescaleVersion(client);
  if (version === null) return;
  if (isTooOld(version)) {
    throw new TidemarkError(
      'TIMESCALE_TOO_OLD',
      `the database has TimescaleDB ${version}, and Tidemark needs ${leastTimescale} or newer`,
      { remedy: upgradeRemedy(await availableVersion(client)) },
    );
  }
  // A setting that the extension's own library brings, not the loader's.
  const loaded = await client.query(`select from pg_settings where name = 'timescaledb.license'`);
  if (loaded.rowCount === 0) {
    throw new TidemarkError(
      'TIMESCALE_NOT_LOADED',
      `the database has hypertables of TimescaleDB ${version}, and the server has not loaded it`,
    );
  }
}

/**
 * Takes TimescaleDB into use where the server has it loaded in a version that will do; elsewhere the tables are plain.
 */
export async function createExtension(client: pg.ClientBase): Promise<void> {
  // The preloaded library has settings that every role may see; shared_preload_libraries itself not every one may.
  const loaded = await client.query(`select from pg_settings where name = 'timescaledb.disable_load'`);
  if (loaded.rowCount === 0) return;
  const available = await availableVersion(client);
  if (available === null || isTooOld(available)) return;
  // Another start may create it at the same moment; a role that may not create it works with what is there.
  // In `public`: a role called tidemark would otherwise get it into the schema of that name, where no other looks.
  await client.query('create extension if not exists timescaledb schema public').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== '23505' && code !== '42710' && code !== '42501') throw error;
  });
}

/** What `create extension` would give; null where the server has none. */
async function availableVersion(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const result = await client.query<{ version: string | null }>(
    `select default_version as version from pg_available_extensions where name = 'timescaledb'`,
  );
  return result.rows[0]?.version ?? null;
}
