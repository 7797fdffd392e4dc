/**
 * The only place that patches BullMQ and reads its private parts. Written for BullMQ 6.7 with ioredis 6 and pg 8.23;
 * check each function when one of them is upgraded.
 */

import type { PostgresQueueBackend, Worker } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type pg from 'pg';
import { systemClock } from '../clock.ts';
import { codeOf } from '../errors.ts';
import { createIORedisClient, RedisConnection } from './packages.ts';

/** Options of a connection, as BullMQ passes them on. */
type RedisSettings = Parameters<NonNullable<typeof RedisConnection.clientFactory>>[0];

/**
 * Creates BullMQ's Redis clients with `create`, and hides the eviction policy from it: BullMQ prints a warning of its
 * own to standard error at each connection. redis.ts reads the policy once and logs it.
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

/**
 * Fails the commands that a client gives up with the cause of its failed connects, instead of the number of its
 * retries.
 */
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
 * Sends the queries of a connection with several users one after the other, and breaks it when one times out: whoever
 * uses it connects again when it breaks, but repeats its queries forever on one that only stays silent.
 */
export function queryInTurn(client: pg.Client): void {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<never>;
  let last: Promise<unknown> = Promise.resolve();
  client.query = ((...args: unknown[]) => {
    const answer = last.then(() => query(...args));
    last = answer.catch((error: unknown) => {
      if (error instanceof Error && error.message === 'Query read timeout') client.connection.stream.destroy(error);
    });
    return answer;
  }) as typeof client.query;
}

/**
 * Lets a backend listen on a connection that it shares, and find workers by other means than their connections. BullMQ
 * opens a connection for each worker, which it names after the worker; of a pool that it is given it would keep one for
 * each, and it would look for the schema `bullmq`.
 */
export function shareConnections(
  backend: PostgresQueueBackend,
  shared: {
    readonly schema: string;
    /** The connection that listens. */
    listener(): Promise<pg.Client>;
    /** Shows a worker of this name to all processes. */
    enter(name: string): Promise<void>;
    /** Resolves when the workers of the backend, which has closed, are shown no more. */
    left(): Promise<unknown>;
    /** Names of the present workers. */
    present(): Promise<readonly string[]>;
  },
): void {
  const { schema } = shared;
  Object.assign(backend.connection, {
    schema,
    getListenClient: () => shared.listener(),
    setListenClientName: (name: string) => shared.enter(name),
  });
  const close = backend.close.bind(backend);
  Object.assign(backend, {
    schema,
    async close(force?: boolean) {
      await close(force);
      await shared.left();
    },
    getClientList: async () => [(await shared.present()).map((name) => `name=${name}`).join('\n')],
  });
}

/** BullMQ's commands that claim a job. */
const claims = /SELECT \* FROM (move_to_(?:active|completed_fetch|failed_fetch))\(\s*\$1,([^)]*)\);/;
/** The same under the lock that BullMQ's limiter takes later in the statement. */
const inTurn = (_: string, claim: string, rest: string) => `
  with turn as materialized (
    select $1::text as queue, pg_advisory_xact_lock(hashtext('bullmq:limiter:' || $1::text))
  )
  select claimed.* from turn cross join lateral ${claim}(turn.queue,${rest}) as claimed`;
const deadlock = '40P01';
/** Far more than meet: claims wait for one another, and other commands change few jobs. */
const maxDeadlocks = 20;

/**
 * Claims the jobs of a queue one after the other, and repeats a command that the server ended as a deadlock: it was
 * rolled back as a whole. A claim first makes all due jobs `waiting`, in any order and before the limiter's lock: two
 * processes with many jobs due together deadlock, and BullMQ then fails jobs whose work has succeeded
 * (docs/bullmq-deadlock.md).
 */
export function claimInTurn(backend: PostgresQueueBackend): void {
  const parts = backend as unknown as { query(text: string, params: unknown[]): Promise<unknown> };
  const query = parts.query.bind(backend);
  parts.query = async (text, params) => {
    const command = text.replace(claims, inTurn);
    for (let deadlocks = 0; ; deadlocks++) {
      try {
        return await query(command, params);
      } catch (error) {
        if (deadlocks >= maxDeadlocks || codeOf(error) !== deadlock) throw error;
      }
    }
  };
}

/**
 * Limits a worker's wait for a job to `ms`; then it looks for one. BullMQ waits until the next delayed job is due, and
 * for an hour at most or after an error, and relies on a notification before that. None arrives on a connection that
 * was just lost, or only stays silent.
 */
export function waitAtMost(backend: PostgresQueueBackend, ms: number): void {
  Object.defineProperty(backend, 'maximumBlockTimeout', { value: ms / 1000 });
}

/** Lets a worker look for jobs every `ms` while it cannot listen for them: BullMQ would take none. */
export function pollWithoutListener(backend: PostgresQueueBackend, ms: number): void {
  const waitForJob = backend.waitForJob.bind(backend);
  backend.waitForJob = async (seconds) => {
    try {
      return await waitForJob(seconds);
    } catch (error) {
      backend.emit('error', error);
      await systemClock.sleep(Math.min(ms, 1000 * seconds));
      return null;
    }
  };
}

/** What a claim returns: job, id, rest of the limiter's pause in ms (0: none), and when the next delayed job is due. */
type Claim = readonly [job: unknown, id: string, pauseMs: number, delayedUntilMs: number];

/**
 * Shortens a limiter's pause by the time that the claim took. The backend computes the rest of the pause at the start
 * of a claim, but a worker waits for it from the claim's end on, after two round trips and the commit of the job
 * before: several milliseconds of each spacing were lost.
 */
export function countPauseFromClaim(backend: PostgresQueueBackend): void {
  const parts = backend as unknown as {
    buildNextJobResult: (rows: unknown[], max: number | null, claimedMs: number) => Promise<Claim>;
  };
  const build = parts.buildNextJobResult.bind(backend);
  parts.buildNextJobResult = async (rows, max, claimedMs) => {
    const [job, id, pauseMs, delayedUntilMs] = await build(rows, max, claimedMs);
    // `claimedMs` is by the clock of the machine, which BullMQ reads. 0 would mean that there is no pause, and that no
    // job is waiting.
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
