/** What each target of `notify` was told, and which of several schedulers tells. */

import type pg from 'pg';
import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import type { Database } from '../db/database.ts';
import { int8, statement, text, texts } from '../db/statement.ts';
import { readSettings, writeSetting } from './settings.ts';

const prefix = 'notify.target.';
/** When `notify --test` delivered a message. The scheduler that tells keeps its own state in memory. */
const testedPrefix = 'notify.tested.';
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

/** A target could not be told, since the last message that was delivered. */
export interface DeliveryFailure {
  /** Of the first attempt that failed. */
  readonly sinceMs: EpochMs;
  /** Of the last one, with its cause. */
  readonly atMs: EpochMs;
  readonly cause: string;
  /** At the last message. */
  readonly attempts: number;
  /** Whether the message was given up. */
  readonly isFinal: boolean;
}

/** A failure as the scheduler wrote it: one of an older release wrote no beginning. */
type StoredFailure = Omit<DeliveryFailure, 'sinceMs'> & Partial<DeliveryFailure>;

/** A failure as `status` and `notify` show it. */
export interface ShownFailure extends DeliveryFailure {
  /** Whether the target was not told: the message was given up, or the target has failed for ten minutes. */
  readonly isUntold: boolean;
}

/** A target that fails for so long was not told. Each new kind of trouble is a new message with its own attempts. */
const untoldMs = 10 * minuteMs;

/** By target, as the scheduler that tells wrote it. */
export const readNotified = (client: pg.Pool | pg.PoolClient) => readSettings<unknown>(client, prefix);

/** By target: failures after the last message that was delivered, a test message included. */
export async function readFailures(client: pg.Pool | pg.PoolClient): Promise<ReadonlyMap<string, ShownFailure>> {
  const known = await readSettings<{ readonly failure: StoredFailure | null }>(client, prefix);
  const tested = await readSettings<EpochMs>(client, testedPrefix);
  return new Map(
    [...known].flatMap(([name, { failure }]) => {
      const testedMs = tested.get(name) ?? 0;
      if (failure === null || failure.atMs <= testedMs) return [];
      const sinceMs = Math.max(failure.sinceMs ?? failure.atMs, testedMs);
      return [[name, { ...failure, sinceMs, isUntold: failure.isFinal || failure.atMs - sinceMs >= untoldMs }]];
    }),
  );
}

/** Targets that were not told of what they should know, each with the cause. */
export async function readUntold({ pool }: Database): Promise<string[]> {
  return [...(await readFailures(pool))].flatMap(([name, { cause, isUntold }]) =>
    isUntold ? [`${name}: ${cause}`] : [],
  );
}

/** @param value null: there is nothing to remember. */
export async function writeNotified({ pool }: Database, target: string, value: object | null): Promise<void> {
  await writeSetting(pool, `${prefix}${target}`, value);
  if (value === null) await writeSetting(pool, `${testedPrefix}${target}`, null);
}

/** Ends what failed before at these targets, to which a test message was delivered. */
export async function writeTested({ pool }: Database, targets: readonly string[], atMs: EpochMs): Promise<void> {
  await upsertTested.on(pool, { targets, atMs, prefix, testedPrefix });
}

const upsertTested = statement({
  name: 'upsert-tested',
  text: `insert into tidemark.settings (name, value)
         select $testedPrefix || target, $atMs::text from unnest($targets) target
         where exists (select from tidemark.settings where name = $prefix || target)
         on conflict (name) do update set value = excluded.value`,
  parameters: { targets: texts<string>(), atMs: int8, prefix: text, testedPrefix: text },
});
