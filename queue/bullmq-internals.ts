/**
 * The only place that patches BullMQ and reads its private parts. Written for BullMQ 6.7 with ioredis 6 and pg 8.23;
 * check each function when one of them is upgraded.
 */

import type { PostgresQueueBackend, Worker } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type pg from 'pg';
import { systemClock } from '../clock.ts';
import { createIORedisClient, RedisConnection } from './packages.ts';

/** Options of a connection, as BullMQ passes them on. */
type RedisSettings = Parameters<NonNullable<typeof RedisConnection.clientFactory>>[0];

/**
 * Creates BullMQ's Redis clients with `create`, and hides the eviction policy from it: BullMQ prints a warning of its own
 * to standard error at each connection. redis.ts reads the policy once and logs it.
 */
export function useRedisClients(create: (settings: RedisSettings) => Redis | Cluster): void {
  RedisConnection.clientFactory = (settings) => {
    const client = create(settings);
    const info: (...words: never[]) => Promise<string> = client.info.bind(client);
    const quiet = async (...words: never[]) => {
      const text = await info(...words);
      // ioredis itself calls it with a callback.
      return words.length === 0 ? text.replace(/^maxmemory_policy:.*$/m, '') : text;
    };
    return createIORedisClient(Object.assign(client, { info: quiet }));
  };
}

/** Fails the commands that a client gives up with the cause of its failed connects, instead of the number of its retries. */
export function failWithCause(client: Redis, causeOf: () => Error | null): void {
  const parts = client as unknown as { flushQueue?: (error: Error, ...options: unknown[]) => void };
  const flushQueue = parts.flushQueue?.bind(client);
  if (flushQueue === undefined) return;
  parts.flushQueue = (error, ...options) =>
    flushQueue(error.name === 'MaxRetriesPerRequestError' ? (causeOf() ?? error) : error, ...options);
}

/** Lets a queue try again after a failed first use. BullMQ keeps that failure, and answers later calls with it. */
export function retryFirstUse(backend: PostgresQueueBackend): void {
  for (const part of [backend.connection, backend]) {
    const parts = part as unknown as { readyPromise?: Promise<void> | undefined };
    const waitUntilReady = part.waitUntilReady.bind(part);
    part.waitUntilReady = async () => {
      try {
        await waitUntilReady();
      } catch (error) {
        parts.readyPromise = undefined;
        throw error;
      }
    };
  }
}

/**
 * Breaks the listening connection when a query on it times out. BullMQ reconnects when that connection breaks, but it
 * repeats its queries forever on one that only stays silent.
 */
export function reconnectOnQueryTimeout(connection: PostgresQueueBackend['connection']): void {
  const getListenClient = connection.getListenClient.bind(connection);
  const patched = new WeakSet<object>();
  connection.getListenClient = async () => {
    const client = await getListenClient();
    if (patched.has(client)) return client;
    patched.add(client);
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<never>;
    client.query = async (...args: unknown[]) => {
      try {
        return await query(...args);
      } catch (error) {
        const { stream } = (client as unknown as pg.Client).connection;
        if (error instanceof Error && error.message === 'Query read timeout') stream.destroy(error);
        throw error;
      }
    };
    return client;
  };
}

/**
 * Limits a worker's wait for a job to `ms`; then it looks for one. BullMQ waits until the next delayed job is due, and for an
 * hour at most or after an error, and relies on a notification before that. None arrives on a connection that was just
 * lost, or only stays silent.
 */
export function waitAtMost(backend: PostgresQueueBackend, ms: number): void {
  Object.defineProperty(backend, 'maximumBlockTimeout', { value: ms / 1000 });
}

/** What a claim returns: job, id, rest of the limiter's pause in ms (0: none), and when the next delayed job is due. */
type Claim = readonly [job: unknown, id: string, pauseMs: number, delayedUntilMs: number];

/**
 * Shortens a limiter's pause by the time that the claim took. The backend computes the rest of the pause at the start of
 * a claim, but a worker waits for it from the claim's end on, after two round trips and the commit of the job before:
 * several milliseconds of each spacing were lost.
 */
export function countPauseFromClaim(backend: PostgresQueueBackend): void {
  const parts = backend as unknown as {
    buildNextJobResult: (rows: unknown[], max: number | null, claimedMs: number) => Promise<Claim>;
  };
  const build = parts.buildNextJobResult.bind(backend);
  parts.buildNextJobResult = async (rows, max, claimedMs) => {
    const [job, id, pauseMs, delayedUntilMs] = await build(rows, max, claimedMs);
    // `claimedMs` is by the clock of the machine, which BullMQ reads. 0 would mean that there is no pause, and that no job is waiting.
    const restMs = pauseMs > 0 ? Math.max(1, pauseMs - (systemClock.now() - claimedMs)) : 0;
    return [job, id, restMs, delayedUntilMs];
  };
}

/**
 * Keeps a worker's delays positive. BullMQ reads the clock twice to compute the rest of a limiter's pause; on a busy
 * machine the result is negative, and Node prints a warning.
 */
export function delayAtLeastOne<Data>(worker: Pick<Worker<Data>, 'delay'>): void {
  const delay = worker.delay.bind(worker);
  worker.delay = (ms, abort) => delay(ms === undefined ? ms : Math.max(1, ms), abort);
}
