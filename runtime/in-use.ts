/** Refuses to drop or move a database that is in use. */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { TidemarkError } from '../errors.ts';
import { defaultSource } from '../model/sources.ts';
import { openQueueBackend, type QueueBackend } from '../queue/backend.ts';
import type { Config } from '../settings/config.ts';
import { listWriters } from '../store/db/activity.ts';
import type { Database } from '../store/db/database.ts';
import { sourcesInUse } from '../store/series/sources.ts';

/**
 * Checks the database's connections and the queue, because an idle worker holds no connection.
 *
 * @param own the calling command, whose connections do not count.
 * @throws TidemarkError DATABASE_IN_USE
 */
export async function refuseWhileInUse(
  database: Database,
  parts: { readonly clock: Clock; readonly config: Config; readonly log: Logger },
  own?: string,
): Promise<void> {
  const connected = (await listWriters(database)).filter((command) => command !== own);
  const present = connected.length > 0 ? connected : await queueUsers(database, parts);
  if (present.length === 0) return;
  throw new TidemarkError('DATABASE_IN_USE', `in use by ${present.join(' and ')}`);
}

/** Of every source that series have. */
async function workersOf(database: Database, queues: QueueBackend): Promise<number> {
  const sources = [defaultSource, ...(await sourcesInUse(database).catch(() => []))];
  const counts = await Promise.all(sources.map((source) => queues.requestsOf(source).countWorkers()));
  return Math.max(...counts);
}

/** A queue that was never created or is unreachable has no workers. */
const withoutWorkers = new Set(['DATABASE_NOT_MIGRATED', 'QUEUE_UNREACHABLE']);

async function queueUsers(
  database: Database,
  { clock, config, log }: Parameters<typeof refuseWhileInUse>[1],
): Promise<string[]> {
  const { redisUrl, namespace } = config.queue;
  try {
    const queues = await openQueueBackend({
      clock,
      redisUrl,
      databaseUrl: database.url,
      namespace,
      attempts: config.worker.attempts,
      log,
    });
    try {
      const [workers, schedulers] = await Promise.all([workersOf(database, queues), queues.planning.countWorkers()]);
      return [...(workers > 0 ? ['worker'] : []), ...(schedulers > 0 ? ['scheduler'] : [])];
    } finally {
      await queues.close();
    }
  } catch (error) {
    if (error instanceof TidemarkError && withoutWorkers.has(error.code)) return [];
    throw error;
  }
}
