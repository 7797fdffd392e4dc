/** The queues, on Redis or PostgreSQL. */

import type { Queue } from 'bullmq';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { defaultSource } from '../model/sources.ts';
import { type Processor, queueNames, type RequestJob, requestsQueueName } from './jobs.ts';
import { withBackend } from './packages.ts';
import { type PlanningJob, planningQueue } from './planning.ts';
import { dropPostgresQueue, migratePostgresQueue, postgresStore } from './postgres.ts';
import { countWorkersOn, explainErrors, type QueueCalls, throttleLog } from './queue-store.ts';
import { redisStore } from './redis.ts';
import { requestQueue } from './requests.ts';
import { startQueueWorker, type WorkerSettings } from './worker.ts';

export interface QueueBackendOptions {
  /** For the log and the connection. BullMQ has its own. */
  readonly clock: Clock;
  /** Absent: PostgreSQL, in the database that also holds the data. */
  readonly redisUrl?: string | undefined;
  readonly databaseUrl: string;
  /** How long the database may take for a connection; 10 s by default. */
  readonly connectTimeoutMs?: number | undefined;
  /** Lower-case name that separates installations on one Redis or database. */
  readonly namespace: string;
  /** Is given the pool on PostgreSQL, before its first connection. */
  readonly preparePool?: ((pool: pg.Pool) => void) | undefined;
  /** Trace context for each added job; undefined: none. */
  readonly carry?: (() => string | undefined) | undefined;
}

export type QueueBackend = Awaited<ReturnType<typeof openQueueBackend>>;

/** Length of BullMQ's event stream, which nothing here reads. */
const maxEvents = 1000;

/**
 * Opens the queues.
 *
 * @param options.attempts of a job before it leaves the queue.
 * @throws TidemarkError QUEUE_UNREACHABLE (Redis), DATABASE_UNREACHABLE or DATABASE_NOT_MIGRATED (PostgreSQL),
 * within seconds. Later outages of the store are waited out; calls during one reject likewise.
 */
export async function openQueueBackend(
  options: QueueBackendOptions & { readonly attempts: number; readonly log: Logger },
) {
  const { clock, databaseUrl, connectTimeoutMs, namespace, log } = options;
  const store =
    options.redisUrl === undefined
      ? postgresStore({ url: databaseUrl, namespace, connectTimeoutMs }, options.preparePool)
      : redisStore({ clock, url: options.redisUrl, namespace });
  let warning = await store.check().catch(async (error: unknown) => {
    await store.close();
    throw error;
  });

  const classes = withBackend(store.connect);
  const logError = throttleLog(
    log,
    `the queue on ${store.kind === 'redis' ? 'Redis' : 'PostgreSQL'} reports an error`,
    clock,
  );
  const explained = <Calls extends QueueCalls>(calls: Calls) =>
    options.redisUrl === undefined ? calls : explainErrors(calls, options.redisUrl);
  const settings = { connection: 'queue', streams: { events: { maxLen: maxEvents } } } as const;
  const openRequests = (source: string) => {
    const queue = new classes.Queue<RequestJob['data'], void, RequestJob['name']>(requestsQueueName(source), settings);
    queue.on('error', logError);
    const requests = requestQueue(queue, {
      attempts: options.attempts,
      workerName: namespace,
      carry: options.carry ?? (() => undefined),
      listsAtOnce: store.kind === 'redis',
    });
    return { queue, requests: explained(requests) };
  };
  const ofDefault = openRequests(defaultSource);
  // Each source has a queue and so a limiter of its own: the pause of one stops no other.
  const opened = new Map([[defaultSource, ofDefault]]);
  const queueOf = (source: string) => {
    const known = opened.get(source) ?? openRequests(source);
    opened.set(source, known);
    return known;
  };
  const allQueues = () => [...[...opened.values()].map(({ queue }) => queue), planning];
  const planning = new classes.Queue<PlanningJob['data'], void, PlanningJob['name']>(queueNames.planning, settings);
  planning.on('error', logError);
  await Promise.all([ofDefault.queue.waitUntilReady(), planning.waitUntilReady()]).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });

  const worker = { classes, workerName: namespace, logError, isLost: store.isLost };
  // Commands that only read the queue do not log it.
  const warnOnce = () => {
    if (warning !== null) log.warn(warning);
    warning = null;
  };
  return Object.freeze({
    kind: store.kind,
    /** The requests to the default source, which gives the lists. */
    requests: ofDefault.requests,
    /** The requests to a source. */
    requestsOf: (source: string) => queueOf(source).requests,
    planning: explained(planningQueue(planning, namespace)),
    /** BullMQ's own objects: tests read the jobs. */
    bullQueues: () => allQueues() as unknown as readonly Queue[],
    /** @param source whose requests it takes. */
    startRequestWorker(processor: Processor<RequestJob>, settings: WorkerSettings, source = defaultSource) {
      warnOnce();
      return startQueueWorker({ ...worker, queueName: requestsQueueName(source), processor, settings });
    },
    startPlanningWorker(processor: Processor<PlanningJob>, settings: WorkerSettings) {
      warnOnce();
      return startQueueWorker({ ...worker, queueName: queueNames.planning, processor, settings });
    },
    ...explained({
      /**
       * Distinct budgets of a source's connected workers, in requests a minute; 0: no limit. For the default source
       * also those of connected schedulers.
       */
      async connectedBudgets(source = defaultSource) {
        const present = await Promise.all([
          countWorkersOn(queueOf(source).queue, namespace),
          ...(source === defaultSource ? [countWorkersOn(planning, namespace)] : []),
        ]);
        return [...new Set(present.flatMap(({ budgets }) => budgets))].sort((one, other) => one - other);
      },
    }),
    /** Whether the store is known to be unreachable: its commands would only fail after retries. */
    isLost: store.isLost,
    /** Close the workers first. Connections to an unreachable store are dropped. */
    async close() {
      if (store.isLost()) {
        for (const queue of allQueues()) void queue.disconnect().catch(() => {});
        return;
      }
      await Promise.all(allQueues().map((queue) => queue.close()));
      await store.close();
    },
  });
}

/**
 * Creates or drops the queue's schema in PostgreSQL. Redis needs none.
 *
 * @throws TidemarkError DATABASE_UNREACHABLE.
 */
export async function migrateQueueBackend(
  options: Omit<QueueBackendOptions, 'clock'>,
  direction: 'up' | 'down',
): Promise<void> {
  const { databaseUrl: url, namespace, connectTimeoutMs } = options;
  const target = { url, namespace, connectTimeoutMs };
  // Down drops the schema even with Redis: it may be left from an earlier configuration.
  if (direction === 'down') await dropPostgresQueue(target);
  else if (options.redisUrl === undefined) await migratePostgresQueue(target);
}
