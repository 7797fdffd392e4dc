/** What each target of `notify` was told, and which of several schedulers tells. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import type { Database } from '../db/database.ts';
import { int8, statement, text } from '../db/statement.ts';
import { writeSetting } from './settings.ts';

const prefix = 'notify.target.';
const tellerName = 'notify.teller';

/** Takes the place of the one that tells, or keeps it, until the given time. @returns whether this process has it. */
export async function takeTelling(
  database: Database,
  { process, nowMs, untilMs }: { readonly process: string; readonly nowMs: EpochMs; readonly untilMs: EpochMs },
): Promise<boolean> {
  const value = JSON.stringify({ process, untilMs });
  return (await takeTeller.on(database.pool, { name: tellerName, value, process, nowMs })).length === 1;
}

const takeTeller = statement({
  name: 'take-teller',
  text: `insert into tidemark.settings as s (name, value) values ($name, $value)
         on conflict (name) do update set value = excluded.value
         where s.value::jsonb ->> 'process' = $process or (s.value::jsonb ->> 'untilMs')::bigint <= $nowMs
         returning name`,
  parameters: { name: text, value: text, process: text, nowMs: int8 },
  row: { name: text },
});

/** Leaves the place to another scheduler. */
export async function endTelling(database: Database, process: string): Promise<void> {
  await dropTeller.on(database.pool, { name: tellerName, process });
}

const dropTeller = statement({
  name: 'drop-teller',
  text: `delete from tidemark.settings where name = $name and value::jsonb ->> 'process' = $process`,
  parameters: { name: text, process: text },
});

/** By target. */
export async function readNotified(client: pg.Pool | pg.PoolClient): Promise<ReadonlyMap<string, unknown>> {
  const rows = await notified.on(client, { prefix });
  return new Map(rows.map(({ name, value }) => [name, JSON.parse(value) as unknown]));
}

const notified = statement({
  name: 'notified',
  text: `select substr(name, length($prefix) + 1) as name, value from tidemark.settings
         where starts_with(name, $prefix)`,
  parameters: { prefix: text },
  row: { name: text, value: text },
});

/** Targets that were not told of what they should know, each with the cause. */
export async function readUntold(database: Database): Promise<string[]> {
  const failed = [...(await readNotified(database.pool))].map(([name, value]) => ({
    name,
    failure: (value as { readonly failure: { readonly cause: string; readonly isFinal: boolean } | null }).failure,
  }));
  return failed.flatMap(({ name, failure }) => (failure?.isFinal === true ? [`${name}: ${failure.cause}`] : []));
}

/** @param value null: there is nothing to remember. */
export async function writeNotified(database: Database, target: string, value: object | null): Promise<void> {
  await writeSetting(database.pool, `${prefix}${target}`, value === null ? null : JSON.stringify(value));
}
