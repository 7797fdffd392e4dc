/** Watches how far the replica from which the service reads is behind. */

import type pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { replicaLagMs } from '../store/db/replica.ts';

export type ReplicaWatch = Awaited<ReturnType<typeof watchReplica>>;

const everyMs = 1000;

/** Measures once a second, and the first time before it returns. */
export async function watchReplica(
  primary: pg.Pool,
  replica: pg.Pool,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
) {
  let lagMs: number | null = null;
  let isKnown = true;
  const measure = async () => {
    try {
      lagMs = await replicaLagMs(primary, replica);
      if (lagMs === null && isKnown)
        log.warn('the lag of SERVE_DATABASE_URL is unknown: it is no streaming replica, or has just started');
    } catch (error) {
      lagMs = null;
      if (isKnown) log.warn({ cause: messageOf(error) }, 'the replica cannot be read');
    }
    isKnown = lagMs !== null;
  };
  await measure();
  const watching = clock.repeat(everyMs, measure, everyMs);
  return {
    /** Milliseconds, as last measured; null: unknown. */
    lagMs: () => lagMs,
    close: () => watching.close(),
  };
}
