/** What the watch list says instead of the environment, and what was applied of it, and when. */

import type pg from 'pg';
import { dayMs, type EpochMs, hourMs } from '../../contract/intervals.ts';
import type { RereadSettings } from '../../planning/reread.ts';
import type { Database } from '../database.ts';

/** What is read again, where the watch list says so; what it leaves out is as the environment has it. */
export interface RereadOverride {
  readonly periods?: number;
  readonly days?: number;
  readonly hours?: number;
}

export interface Applied {
  /** SHA-256 of the file's text. */
  readonly hash: string;
  /** When its patterns were resolved. */
  readonly atMs: EpochMs;
}

const names = { applied: 'watch_list.applied', reread: 'watch_list.reread' } as const;

async function read(client: pg.Pool | pg.PoolClient, name: string): Promise<unknown> {
  const result = await client.query<{ value: string }>({
    name: 'one-setting',
    text: 'select value from tidemark.settings where name = $1',
    values: [name],
  });
  const value = result.rows[0]?.value;
  return value === undefined ? null : JSON.parse(value);
}

/** @param value null: forgotten. */
async function write(client: pg.PoolClient, name: string, value: string | null): Promise<void> {
  if (value === null) await client.query('delete from tidemark.settings where name = $1', [name]);
  else {
    await client.query(
      `insert into tidemark.settings (name, value) values ($1, $2)
       on conflict (name) do update set value = excluded.value`,
      [name, value],
    );
  }
}

/** Null: no watch list was applied yet. */
export async function applied(client: pg.Pool | pg.PoolClient): Promise<Applied | null> {
  return (await read(client, names.applied)) as Applied | null;
}

export function writeApplied(client: pg.PoolClient, value: Applied): Promise<void> {
  return write(client, names.applied, JSON.stringify(value));
}

export async function rereadOverride(client: pg.Pool | pg.PoolClient): Promise<RereadOverride> {
  return ((await read(client, names.reread)) ?? {}) as RereadOverride;
}

export function writeRereadOverride(client: pg.PoolClient, override: RereadOverride): Promise<void> {
  const isEmpty = Object.keys(override).length === 0;
  return write(client, names.reread, isEmpty ? null : JSON.stringify(override));
}

/** What is read again: as the watch list says, and where it says nothing as configured. */
export async function rereadAsSaid(database: Database, configured: RereadSettings): Promise<RereadSettings> {
  return overridden(configured, await rereadOverride(database.pool));
}

export function overridden(configured: RereadSettings, said: RereadOverride): RereadSettings {
  return {
    periods: said.periods ?? configured.periods,
    rangeMs: said.days === undefined ? configured.rangeMs : said.days * dayMs,
    everyMs: said.hours === undefined ? configured.everyMs : said.hours * hourMs,
  };
}

/** How long each dataset is kept, by the names of `retention.ts`; null: for good. */
export async function writeRetention(
  client: pg.PoolClient,
  dataset: string,
  age: string | null,
): Promise<void> {
  await write(client, `retention.${dataset}`, age);
}

/** Only one process applies a watch list at a time; the lock is held until the transaction ends. */
export async function lockWatchList(client: pg.PoolClient): Promise<void> {
  await client.query(`select pg_advisory_xact_lock(hashtext('tidemark.watch_list'))`);
}
