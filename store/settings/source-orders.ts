/**
 * What a user orders for a source until it is taken back: to request nothing of it, or less than it allows. In the
 * settings, so that all processes follow it.
 */

import type { EpochMs } from '../../model/intervals.ts';
import type { LoweredBudget } from '../../planning/budget.ts';
import type { Database } from '../db/database.ts';
import { statement, text } from '../db/statement.ts';
import { endPauseIn, type Pause, readPause, readSetting, writeSetting } from './settings.ts';

const paused = 'requests.paused@';
const budget = 'requests.budget@';

const settingsOfSources = statement({
  name: 'settings-of-sources',
  text: `select substr(name, length($prefix) + 1) as source, value from tidemark.settings
         where starts_with(name, $prefix) order by 1`,
  parameters: { prefix: text },
  row: { source: text, value: text },
});

async function readOrders<Order>(database: Database, prefix: string): Promise<ReadonlyMap<string, Order>> {
  const rows = await settingsOfSources.on(database.pool, { prefix });
  return new Map(rows.map(({ source, value }) => [source, JSON.parse(value) as Order]));
}

/** The sources that are paused one by one. */
export const readSourcePauses = (database: Database) => readOrders<Pause>(database, paused);

/** The pause of all requests, or else that of the source; null: there is none. */
export async function readPauseOf(database: Database, source: string): Promise<Pause | null> {
  return (await readPause(database.pool)) ?? ((await readSetting(database.pool, `${paused}${source}`)) as Pause | null);
}

/** A pause in force keeps its time. @returns whether there was none. */
export async function writeSourcePause(database: Database, source: string, pause: Pause): Promise<boolean> {
  const name = `${paused}${source}`;
  if ((await readSetting(database.pool, name)) !== null) return false;
  return writeSetting(database.pool, name, JSON.stringify(pause));
}

/** Resumes. @returns whether there was a pause. */
export const endSourcePause = (database: Database, source: string, untilMs: EpochMs) =>
  endPauseIn(database, `${paused}${source}`, { source, untilMs });

export const readLoweredBudgets = (database: Database) => readOrders<LoweredBudget>(database, budget);

/** @returns null: all that the source allows may be used. */
export async function readLoweredBudget(database: Database, source: string): Promise<LoweredBudget | null> {
  return (await readSetting(database.pool, `${budget}${source}`)) as LoweredBudget | null;
}

/** @param lowered null: the source's own budget is in force again. @returns whether there was one to delete. */
export function writeLoweredBudget(
  database: Database,
  source: string,
  lowered: LoweredBudget | null,
): Promise<boolean> {
  return writeSetting(database.pool, `${budget}${source}`, lowered === null ? null : JSON.stringify(lowered));
}
