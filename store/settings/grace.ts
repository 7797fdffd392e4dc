/** How long after its end a period may still change: one value for every process, and for the views (`tidemark.grace()`). */

import { codeOf } from '../../errors.ts';
import type { Database } from '../db/database.ts';
import { readSetting, writeSetting } from './settings.ts';

export const graceSetting = 'grace_ms';
export const defaultGraceMs = 60_000;

/** Missing privileges, and a read-only server or session. */
const mayNotWrite: readonly unknown[] = ['42501', '25006'];

/**
 * The grace in milliseconds. A given one is stored, if this process may; it holds for the others when they start next.
 *
 * @param givenMs GRACE_SECONDS of this process; undefined: it has none.
 */
export async function agreeOnGrace({ pool }: Database, givenMs: number | undefined): Promise<number> {
  const stored = (await readSetting(pool, graceSetting)) ?? defaultGraceMs;
  if (givenMs === undefined || givenMs === stored) return Number(stored);
  try {
    await writeSetting(pool, graceSetting, String(givenMs));
  } catch (error) {
    if (!mayNotWrite.includes(codeOf(error))) throw error;
  }
  return givenMs;
}
