/**
 * Settings: those of the watch list that override the environment, the version of it that was applied last, and the
 * longest ranges that the source accepts, where it refused longer ones: shared by all workers and later starts.
 */

import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { dayMs, type EpochMs, hourMs } from '../../model/intervals.ts';
import type { RangeKey } from '../../model/request-range.ts';
import { defaultSource } from '../../model/sources.ts';
import type { InvalidList } from '../../planning/headline.ts';
import type { RereadSettings } from '../../planning/reread.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { int8, jsonb, statement, text } from '../db/statement.ts';
import { byKindOfSource, isOfSource } from '../series/sources.ts';

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
  unlisted: 'watch_list.unlisted',
  waiting: 'watch_list.waiting',
  invalid: 'watch_list.invalid',
  reread: 'watch_list.reread',
  paused: 'requests.paused',
  endedPauses: 'requests.pauses_ended',
  store: 'store.id',
} as const;

const mostEndedPauses = 100;

/** @returns its value, as it was written; null: it is not set. */
export async function readSetting<Value>(client: pg.Pool | pg.PoolClient, name: string): Promise<Value | null> {
  const [found] = await oneSetting.on(client, { name });
  return found === undefined ? null : (JSON.parse(found.value) as Value);
}

const oneSetting = statement({
  name: 'one-setting',
  text: 'select value from tidemark.settings where name = $name',
  parameters: { name: text },
  row: { value: text },
});

/** The settings whose names begin so, as {@link readSetting} reads them, by the rest of their names. */
export async function readSettings<Value>(
  client: pg.Pool | pg.PoolClient,
  prefix: string,
): Promise<ReadonlyMap<string, Value>> {
  const rows = await settingsWith.on(client, { prefix });
  return new Map(rows.map(({ name, value }) => [name, JSON.parse(value) as Value]));
}

const settingsWith = statement({
  name: 'settings-with-prefix',
  text: `select substr(name, length($prefix) + 1) as name, value from tidemark.settings
         where starts_with(name, $prefix) order by name`,
  parameters: { prefix: text },
  row: { name: text, value: text },
});

/** @param value as JSON; null deletes the setting. @returns whether anything was written or deleted. */
export function writeSetting(client: pg.Pool | pg.PoolClient, name: string, value: unknown): Promise<boolean> {
  return writeSettingText(client, name, value === null ? null : JSON.stringify(value));
}

/** The same of a text that is not JSON. */
export async function writeSettingText(
  client: pg.Pool | pg.PoolClient,
  name: string,
  value: string | null,
): Promise<boolean> {
  const changed = await (value === null
    ? deleteSetting.on(client, { name })
    : upsertSetting.on(client, { name, value }));
  return changed.length === 1;
}

const deleteSetting = statement({
  name: 'delete-setting',
  text: 'delete from tidemark.settings where name = $name returning name',
  parameters: { name: text },
  row: { name: text },
});

const upsertSetting = statement({
  name: 'upsert-setting',
  text: `insert into tidemark.settings (name, value) values ($name, $value)
         on conflict (name) do update set value = excluded.value returning name`,
  parameters: { name: text, value: text },
  row: { name: text },
});

/** Identifies the store wherever it is moved or restored to. */
export async function storeId(database: Database): Promise<string> {
  const known = await readSetting<string>(database.pool, names.store);
  if (known !== null) return known;
  await insertSetting.on(database.pool, { name: names.store, value: JSON.stringify(randomUUID()) });
  return storeId(database);
}

const insertSetting = statement({
  name: 'insert-setting',
  text: 'insert into tidemark.settings (name, value) values ($name, $value) on conflict (name) do nothing',
  parameters: { name: text, value: text },
});

/** Null: requests are not paused. */
export function readPause(client: pg.Pool | pg.PoolClient): Promise<Pause | null> {
  return readSetting(client, names.paused);
}

export const writePause = (database: Database, pause: Pause) => writePauseIn(database, names.paused, pause);

/** Writes the setting of a pause. One in force keeps its time. @returns whether there was none. */
export async function writePauseIn({ pool }: Database, name: string, pause: Pause): Promise<boolean> {
  return (await readSetting(pool, name)) === null && writeSetting(pool, name, pause);
}

/** Resumes. @returns whether there was a pause. */
export const endPause = (database: Database, untilMs: EpochMs) =>
  endPauseIn(database, names.paused, { source: null, untilMs });

/** A pause that has ended. */
export interface EndedPause extends Pause {
  /** Null: of all requests. */
  readonly source: string | null;
  readonly untilMs: EpochMs;
}

/** The newest that have ended, the last of them first. */
export async function readEndedPauses(database: Database): Promise<readonly EndedPause[]> {
  return (await readSetting<EndedPause[]>(database.pool, names.endedPauses)) ?? [];
}

/** Deletes the setting of a pause, and keeps it among those that have ended. @returns whether there was one. */
export async function endPauseIn(
  database: Database,
  name: string,
  end: Pick<EndedPause, 'source' | 'untilMs'>,
): Promise<boolean> {
  const ended = await movePause.on(database.pool, { name, ended: names.endedPauses, end });
  return ended.length === 1;
}

const movePause = statement({
  name: 'end-pause',
  text: `
    with gone as (delete from tidemark.settings where name = $name returning value)
    insert into tidemark.settings as s (name, value)
    select $ended, jsonb_build_array(value::jsonb || $end)::text from gone
    on conflict (name) do update set value = (
      select jsonb_agg(one order by place)::text
      from jsonb_array_elements(excluded.value::jsonb || s.value::jsonb) with ordinality e (one, place)
      where place <= ${mostEndedPauses})
    returning name`,
  parameters: { name: text, ended: text, end: jsonb<Pick<EndedPause, 'source' | 'untilMs'>>() },
  row: { name: text },
});

/** Null: no watch list was applied yet. */
export function readApplied(client: pg.Pool | pg.PoolClient): Promise<Applied | null> {
  return readSetting(client, names.applied);
}

export async function writeApplied(client: pg.PoolClient, value: Applied): Promise<void> {
  await writeSetting(client, names.applied, value);
}

/** The sources whose markets the watch list lacks: a worker reads their lists. */
export async function readUnlisted(database: Database): Promise<readonly string[]> {
  return (await readSetting<string[]>(database.pool, names.unlisted)) ?? [];
}

export async function writeUnlisted(database: Database, sources: readonly string[]): Promise<void> {
  await writeSetting(database.pool, names.unlisted, sources.length === 0 ? null : sources);
}

/** What the watch list leaves out until a list is read, with its place and the reason. */
export async function readWaiting(database: Database): Promise<readonly string[]> {
  return (await readSetting<string[]>(database.pool, names.waiting)) ?? [];
}

export async function writeWaiting(client: pg.Pool | pg.PoolClient, waiting: readonly string[]): Promise<void> {
  await writeSetting(client, names.waiting, waiting.length === 0 ? null : waiting);
}

/** The scheduler's watch list is invalid: the last applied state stays. Null: it is valid, or there is none. */
export function readInvalidList(client: pg.Pool | pg.PoolClient): Promise<InvalidList | null> {
  return readSetting(client, names.invalid);
}

/** Keeps the time from which on it has been invalid. @param why null: it no longer is. */
export async function writeInvalidList(
  client: pg.Pool | pg.PoolClient,
  why: string | null,
  nowMs: EpochMs,
): Promise<void> {
  const before = await readInvalidList(client);
  if ((before?.why ?? null) === why) return;
  const invalid: InvalidList | null = why === null ? null : { sinceMs: before?.sinceMs ?? nowMs, why };
  await writeSetting(client, names.invalid, invalid);
}

export async function readRereadOverride(client: pg.Pool | pg.PoolClient): Promise<RereadOverride> {
  return (await readSetting<RereadOverride>(client, names.reread)) ?? {};
}

export async function writeRereadOverride(client: pg.PoolClient, override: RereadOverride): Promise<void> {
  await writeSetting(client, names.reread, Object.keys(override).length === 0 ? null : override);
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
  const [dataset = '', interval = ''] = key.split(' ');
  await inTransaction(database, async (client) => {
    await lowerRange.on(client, { name: `${rangePrefix(source)}${key}`, value: String(longestMs) });
    await deleteRefused(source).on(client, { dataset, interval, longestMs, source });
  });
}

const lowerRange = statement({
  name: 'lower-longest-range',
  text: `insert into tidemark.settings as s (name, value) values ($name, $value)
         on conflict (name) do update set value = least(s.value::bigint, excluded.value::bigint)::text`,
  parameters: { name: text, value: text },
});

const deleteRefused = byKindOfSource((source = defaultSource, ofKind) =>
  statement({
    name: `delete-refused-windows ${ofKind}`,
    isPlannedAnew: true,
    text: `delete from tidemark.pending_windows p using tidemark.series s
           where s.id = p.series_id and s.dataset = $dataset and s.interval = $interval
             and p.reason = 'failed' and p.kind = 'refused'
             and extract(epoch from upper(p.range) - lower(p.range)) * 1000 > $longestMs
             and ${isOfSource(source, '$source')}`,
    parameters: { dataset: text, interval: text, longestMs: int8, source: text },
  }),
);

/** Milliseconds by dataset and interval. */
export async function readLongestRanges(database: Database, source: string): Promise<ReadonlyMap<RangeKey, number>> {
  return (await readSettings<number>(database.pool, rangePrefix(source))) as ReadonlyMap<RangeKey, number>;
}
