/**
 * What a user orders for a source until it is taken back: to request nothing of it, or less than it allows. In the
 * settings, so that all processes follow it.
 */

import type { EpochMs } from '../../model/intervals.ts';
import type { LoweredBudget } from '../../planning/budget.ts';
import type { Database } from '../db/database.ts';
import {
  endPauseIn,
  type Pause,
  readPause,
  readSetting,
  readSettings,
  writePauseIn,
  writeSetting,
} from './settings.ts';

const paused = 'requests.paused@';
const budget = 'requests.budget@';

/** The sources that are paused one by one. */
export const readSourcePauses = (database: Database) => readSettings<Pause>(database.pool, paused);

/** The pause of all requests, or else that of the source; null: there is none. */
export async function readPauseOf(database: Database, source: string): Promise<Pause | null> {
  return (await readPause(database.pool)) ?? readSetting(database.pool, `${paused}${source}`);
}

/** A pause in force keeps its time. @returns whether there was none. */
export const writeSourcePause = (database: Database, source: string, pause: Pause) =>
  writePauseIn(database, `${paused}${source}`, pause);

/** Resumes. @returns whether there was a pause. */
export const endSourcePause = (database: Database, source: string, untilMs: EpochMs) =>
  endPauseIn(database, `${paused}${source}`, { source, untilMs });

export const readLoweredBudgets = (database: Database) => readSettings<LoweredBudget>(database.pool, budget);

/** @returns null: all that the source allows may be used. */
export function readLoweredBudget(database: Database, source: string): Promise<LoweredBudget | null> {
  return readSetting(database.pool, `${budget}${source}`);
}

/** @param lowered null: the source's own budget is in force again. @returns whether there was one to delete. */
export function writeLoweredBudget(
  database: Database,
  source: string,
  lowered: LoweredBudget | null,
): Promise<boolean> {
  return writeSetting(database.pool, `${budget}${source}`, lowered);
}
