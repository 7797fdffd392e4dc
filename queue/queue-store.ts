/** The store of BullMQ's queues: Redis or PostgreSQL. This interface hides the difference. */

import type { BackendClasses, BackendFactory, IQueueBackend, Queue } from 'bullmq';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { messageOf, TidemarkError } from '../errors.ts';

export interface QueueStore {
  readonly kind: 'redis' | 'postgres';
  /** Creates the connections of one queue or worker; BullMQ's `connection` option names which. */
  readonly connect: BackendFactory<IQueueBackend, 'queue' | 'worker'>;
  /** Whether the server is known to be unreachable, so that a close need not wait for it. */
  isLost(): boolean;
  /**
   * @returns a warning for workers and schedulers; null: none.
   * @throws TidemarkError within seconds when the store cannot be used.
   */
  check(): Promise<string | null>;
  /** Closes what the connections share. Close them first. */
  close(): Promise<void>;
}

/** BullMQ's classes on either store. */
export type BullClasses = BackendClasses<IQueueBackend, 'queue' | 'worker'>;

/** A queue on either store. */
export type BullQueue<Data, Name extends string> = Queue<
  Data,
  void,
  Name,
  Data,
  void,
  Name,
  IQueueBackend,
  'queue' | 'worker'
>;

/** A worker's name: its installation, and its budget in requests a minute if it has one (0: no limit). */
export function nameOfWorker(installation: string, requestsPerMinute?: number): string {
  return requestsPerMinute === undefined ? installation : `${installation}@${requestsPerMinute}`;
}

/**
 * Counts the connected workers of an installation, on any host, and lists their budgets, each once, ascending; 0: no
 * limit. A crashed worker vanishes with its connection. On PostgreSQL the workers of one process count once.
 */
export async function countWorkersOn<Data, Name extends string>(queue: BullQueue<Data, Name>, installation: string) {
  const names = (await queue.getWorkers()).map(({ rawname = '' }) => rawname.slice(rawname.lastIndexOf(':w:') + 3));
  const own = names.flatMap((name) => {
    const [of, budget] = name.split('@');
    return of === installation ? [budget === undefined ? null : Number(budget)] : [];
  });
  const budgets = own.filter((budget) => budget !== null);
  return { count: own.length, budgets: [...new Set(budgets)].sort((one, other) => one - other) };
}

export type QueueCalls = Readonly<Record<string, (...words: never[]) => Promise<unknown>>>;

/** `Redis at 127.0.0.1:6379: connect ECONNREFUSED 127.0.0.1:6379`, also while a connection is opened. */
export const redisTrouble = (redisUrl: string, why: string) => `Redis at ${new URL(redisUrl).host}: ${why}`;

/**
 * Makes calls to Redis reject with QUEUE_UNREACHABLE. Other code takes a plain ECONNREFUSED for one of the database.
 */
export function explainErrors<Calls extends QueueCalls>(calls: Calls, redisUrl: string): Calls {
  const explained = Object.entries(calls).map(([name, call]) => [
    name,
    async (...words: never[]) => {
      try {
        return await call(...words);
      } catch (error) {
        throw new TidemarkError('QUEUE_UNREACHABLE', redisTrouble(redisUrl, messageOf(error)), { cause: error });
      }
    },
  ]);
  return Object.freeze(Object.fromEntries(explained)) as Calls;
}

const quietMs = 60_000;

/**
 * Logs an error once a minute, with the number of suppressed repeats. During an outage of the queue's store BullMQ
 * reports every failed command of every connection.
 */
export function throttleLog(log: Logger, about: string, clock: Clock): (error: Error) => void {
  const logged = new Map<string, { atMs: number; suppressed: number }>();
  return (error) => {
    const text = errorText(error);
    // Ids and ports differ between reports of one cause.
    const key = text.replace(/[0-9a-f-]{8,}|\d+/g, '#');
    const nowMs = clock.monotonicMs();
    const before = logged.get(key);
    if (before !== undefined && nowMs - before.atMs < quietMs) {
      before.suppressed += 1;
      return;
    }
    for (const [other, entry] of logged) if (nowMs - entry.atMs >= quietMs) logged.delete(other);
    logged.set(key, { atMs: nowMs, suppressed: 0 });
    log.warn({ cause: text, suppressed: before?.suppressed ?? 0 }, about);
  };
}

/** The message, or what stands for it in errors of the network. */
export function errorText(error: Error): string {
  return error.message !== '' ? error.message : 'code' in error ? String(error.code) : error.name;
}
