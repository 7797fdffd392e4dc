import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

type Queryable = Pick<pg.Pool | pg.Client, 'query'>;

/**
 * Waits until `condition` holds, and checks it every `everyMs`: for what a server, a queue, a browser, another process
 * or its output shows, which tells nobody when it changes. What this process does is awaited, or moved by its clock.
 *
 * @throws Error naming `what` after `withinMs`: a limit for a condition that never holds, not a measure of speed.
 */
export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { everyMs = 25, withinMs = 300_000 }: { everyMs?: number; withinMs?: number } = {},
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out after ${withinMs} ms, waiting for: ${what}`);
    await delay(everyMs);
  }
}

/** Waits until a session of this database waits for a lock. */
export const waitForLock = (database: Queryable) =>
  waitFor('a session to wait for a lock', async () => (await lockWaits(database)) > 0);

/** @returns how many sessions of this database wait for a lock. */
export async function lockWaits(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rowCount ?? 0;
}
