/**
 * Adapts a migrated database to TimescaleDB, where it has the extension. Every step looks at what is there first, so
 * that it can run after every migration: a database that was made plain, and got the extension later, is converted
 * by it, and a changed setting is applied.
 */

import type pg from 'pg';
import type { StorageSettings } from '../../config.ts';
import { shapeColumnstore } from './columnstore.ts';
import { timescaleVersion } from './extension.ts';
import { shapeHypertables } from './hypertables.ts';

/** In this order, in one transaction: after a crash all of it is done, or nothing. */
const steps = [shapeHypertables, shapeColumnstore];

/** @returns a line for each change. */
export async function adaptToTimescale(client: pg.ClientBase, settings: StorageSettings): Promise<string[]> {
  if ((await timescaleVersion(client)) === null) return [];
  await client.query('begin');
  try {
    // Another `migrate` that is a moment behind finds nothing left to do.
    await client.query(`select pg_advisory_xact_lock(hashtext('tidemark.adapt'))`);
    const changes: string[] = [];
    for (const step of steps) changes.push(...(await step(client, settings)));
    await client.query('commit');
    return changes;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}
