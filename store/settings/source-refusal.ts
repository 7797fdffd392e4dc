/**
 * The refusal of each source, shared by all processes: in the settings, since no request may reach the source
 * meanwhile.
 */

import type { EpochMs } from '../../model/intervals.ts';
import type { SourceRefusal } from '../../planning/source-refusal.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { readSetting, writeSetting } from './settings.ts';

const nameOf = (source: string) => `source.refusal@${source}`;

/** @returns null: it has refused nothing. */
export function readRefusal(database: Database, source: string): Promise<SourceRefusal | null> {
  return readSetting(database.pool, nameOf(source));
}

/** Until when a source that refuses all requests gets none; null: it does not, or gets one now. */
export async function readRefusedUntil(database: Database, source: string, nowMs: EpochMs): Promise<EpochMs | null> {
  const refusal = await readRefusal(database, source);
  return refusal !== null && refusal.acceptedAtMs === null && refusal.untilMs > nowMs ? refusal.untilMs : null;
}

/**
 * Changes it, one process at a time.
 *
 * @param change returns null for no change. @returns the state after it.
 */
export function changeRefusal(
  database: Database,
  source: string,
  change: (before: SourceRefusal | null) => SourceRefusal | null,
): Promise<SourceRefusal | null> {
  const name = nameOf(source);
  return inTransaction(database, async (client) => {
    await client.query('select pg_advisory_xact_lock(hashtext($1))', [`tidemark.${name}`]);
    const before = await readSetting<SourceRefusal>(client, name);
    const after = change(before);
    if (after === null) return before;
    await writeSetting(client, name, after);
    return after;
  });
}
