/** Whether something works on the database that is about to lose its tables, or to be moved. */

import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { TidemarkError } from '../errors.ts';
import { openQueueBackend } from '../queue/backend.ts';
import { writersPresent } from '../store/activity.ts';
import type { Database } from '../store/database.ts';

/**
 * Looks at the database's connections and at the queue: a worker with nothing to do holds no connection.
 *
 * @param own the command that asks, where its own connections are not to be counted.
 * @throws TidemarkError DATABASE_IN_USE
 */
export async function refuseWhileInUse(
  database: Database,
  config: Config,
  log: Logger,
  own?: string,
): Promise<void> {
  const connected = (await writersPresent(database)).filter((command) => command !== own);
  const present = connected.length > 0 ? connected : await queueUsers(database, config, log);
  if (present.length === 0) return;
  throw new TidemarkError('DATABASE_IN_USE', `${present.join(' and ')} at work on this database`);
}

/** A queue that was never made, or cannot be reached, has nobody who works through it. */
const nobodyThere = new Set(['DATABASE_NOT_MIGRATED', 'QUEUE_UNREACHABLE']);

async function queueUsers(database: Database, config: Config, log: Logger): Promise<string[]> {
  const { redisUrl, namespace } = config.queue;
  try {
    const queues = await openQueueBackend({
      redisUrl,
      databaseUrl: database.url,
      namespace,
      attempts: config.worker.attempts,
      log,
    });
    try {
      const [workers, schedulers] = await Promise.all([
        queues.requests.workersPresent(),
        queues.planning.workersPresent(),
      ]);
      return [...(workers > 0 ? ['worker'] : []), ...(schedulers > 0 ? ['scheduler'] : [])];
    } finally {
      await queues.close();
    }
  } catch (error) {
    if (error instanceof TidemarkError && nobodyThere.has(error.code)) return [];
    throw error;
  }
}
