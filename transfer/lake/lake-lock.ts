/**
 * Of several processes one writes a lake: an advisory lock by its directory, which the database releases with the
 * session.
 */

import { type Database, isLockWait } from '../../store/db/database.ts';

/**
 * Runs `work` unless another process writes the lake. The session of a process that was killed may hold the lock for a
 * moment, so it is waited for as long as any lock.
 *
 * @param directory absolute.
 * @returns null when another process holds the lock.
 */
export async function withLakeLock<Result>(
  database: Database,
  directory: string,
  work: () => Promise<Result>,
): Promise<Result | null> {
  const client = await database.pool.connect();
  const key = `hashtextextended('tidemark lake ' || $1, 0)`;
  let broken: Error | undefined;
  try {
    try {
      await client.query(`select pg_advisory_lock(${key})`, [directory]);
    } catch (error) {
      if (isLockWait(error)) return null;
      throw error;
    }
    try {
      return await work();
    } finally {
      await client.query(`select pg_advisory_unlock(${key})`, [directory]).catch((error: Error) => {
        broken = error;
      });
    }
  } finally {
    client.release(broken);
  }
}
