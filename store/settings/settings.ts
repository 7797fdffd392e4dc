/**
 * Settings: those of the watch list that override the environment, the version of it that was applied last, and the
 * longest ranges that the source accepts, where it refused longer ones: shared by all workers and later starts.
 */

import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { dayMs, type EpochMs, hourMs } from '../../model/intervals.ts';
import type { RangeKey } from '../../model/windows.ts';
import type { RereadSettings } from '../../planning/reread.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { isOfSource } from '../series/sources.ts';

/** Re-read settings of the watch list. Absent ones come from the environment. */
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

/** Nothing is requested until somebody resumes. */
export interface Pause {
  readonly sinceMs: EpochMs;
  /** Who paused, such as an address; null: a command. */
  readonly by: string | null;
}

const names = {
  applied: 'watch_list.applied',
  reread: 'watch_list.reread',
  paused: 'requests.paused',
  store: 'store.id',
} as const;

/** @returns its value; null: it is not set. */
export async function readSetting(client: pg.Pool | pg.PoolClient, name: string): Promise<unknown> {
  const result = await client.query<{ value: string }>({
    name: 'one-setting',
    text: 'select value from tidemark.settings where name = $1',
    values: [name],
  });
  const value = result.rows[0]?.value;
  return value === undefined ? null : JSON.parse(value);
}

/** @param value null deletes the setting. @returns whether anything was written or deleted. */
export async function writeSetting(
  client: pg.Pool | pg.PoolClient,
  name: string,
  value: string | null,
): Promise<boolean> {
  const result = await (value === null
    ? client.query('delete from tidemark.settings where name = $1', [name])
    : client.query(
        `insert into tidemark.settings (name, value) values ($1, $2)
         on conflict (name) do update set value = excluded.value`,
        [name, value],
      ));
  return result.rowCount === 1;
}

/** Identifies the store wherever it is moved or restored to. */
export async function storeId(database: Database): Promise<string> {
  const known = await readSetting(database.pool, names.store);
  if (typeof known === 'string') return known;
  await database.pool.query(
    'insert into tidemark.settings (name, value) values ($1, $2) on conflict (name) do nothing',
    [names.store, JSON.stringify(randomUUID())],
  );
  return storeId(database);
}

/** Null: requests are not paused. */
export async function readPause(client: pg.Pool | pg.PoolClient): Promise<Pause | null> {
  return (await readSetting(client, names.paused)) as Pause | null;
}

/** @param pause null: resumes. A pause in force keeps its time. @returns whether anything changed. */
export async function writePause(database: Database, pause: Pause | null): Promise<boolean> {
  if (pause !== null && (await readPause(database.pool)) !== null) return false;
  return writeSetting(database.pool, names.paused, pause === null ? null : JSON.stringify(pause));
}

/** Null: no watch list was applied yet. */
export async function readApplied(client: pg.Pool | pg.PoolClient): Promise<Applied | null> {
  return (await readSetting(client, names.applied)) as Applied | null;
}

export async function writeApplied(client: pg.PoolClient, value: Applied): Promise<void> {
  await writeSetting(client, names.applied, JSON.stringify(value));
}

export async function readRereadOverride(client: pg.Pool | pg.PoolClient): Promise<RereadOverride> {
  return ((await readSetting(client, names.reread)) ?? {}) as RereadOverride;
}

export async function writeRereadOverride(client: pg.PoolClient, override: RereadOverride): Promise<void> {
  const isEmpty = Object.keys(override).length === 0;
  await writeSetting(client, names.reread, isEmpty ? null : JSON.stringify(override));
}

/** Reads the re-read settings: the watch list's, or else the configured ones. */
export async function readRereadSettings(database: Database, configured: RereadSettings): Promise<RereadSettings> {
  return overrideReread(configured, await readRereadOverride(database.pool));
}

export function overrideReread(configured: RereadSettings, override: RereadOverride): RereadSettings {
  return {
    periods: override.periods ?? configured.periods,
    rangeMs: override.days === undefined ? configured.rangeMs : override.days * dayMs,
    everyMs: override.hours === undefined ? configured.everyMs : override.hours * hourMs,
  };
}

/** Locks the watch list until the end of the transaction: one process applies it at a time. */
export async function lockWatchList(client: pg.PoolClient): Promise<void> {
  await client.query(`select pg_advisory_xact_lock(hashtext('tidemark.watch_list'))`);
}

/** Names of the settings with the longest ranges of a source. */
const rangePrefix = (source: string) => `longest_range@${source} `;

/**
 * Stores the length, unless a shorter one is stored, and deletes the refused windows, so that they are
 * planned again with this length.
 *
 * @param key dataset and interval.
 */
export async function storeLongestRange(
  database: Database,
  key: RangeKey,
  longestMs: number,
  source: string,
): Promise<void> {
  const [dataset, interval] = key.split(' ');
  await inTransaction(database, async (client) => {
    await client.query(
      `insert into tidemark.settings as s (name, value) values ($1, $2)
       on conflict (name) do update set value = least(s.value::bigint, excluded.value::bigint)::text`,
      [`${rangePrefix(source)}${key}`, String(longestMs)],
    );
    await client.query(
      `delete from tidemark.pending_windows p using tidemark.series s
       where s.id = p.series_id and s.dataset = $1 and s.interval = $2 and p.reason = 'failed' and p.kind = 'refused'
         and extract(epoch from upper(p.range) - lower(p.range)) * 1000 > $3 and ${isOfSource(source, '$4')}`,
      [dataset, interval, longestMs, source],
    );
  });
}

/** Milliseconds by dataset and interval. */
export async function readLongestRanges(database: Database, source: string): Promise<ReadonlyMap<RangeKey, number>> {
  const result = await database.pool.query<{ key: RangeKey; value: string }>({
    name: 'longest-ranges',
    text: `select substr(name, length($1) + 1) as key, value from tidemark.settings where starts_with(name, $1)`,
    values: [rangePrefix(source)],
  });
  return new Map(result.rows.map((row) => [row.key, Number(row.value)]));
}
