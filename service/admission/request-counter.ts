/** Counts the requests of each caller in a rolling minute, shared by all service processes: in PostgreSQL or Redis. */

import { type Cluster, Redis } from 'ioredis';
import type pg from 'pg';
import type { Clock } from '../../clock.ts';
import { assertCountable, type CountedRequest, countRequest } from '../keys.ts';

export interface RequestCounter {
  /** Counts one request, unless the caller already made `perMinute` in the last 60 seconds. */
  count(caller: string, perMinute: number): Promise<CountedRequest>;
  /** Rejects while the counter is unavailable. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** In the served database. @param pool may write. */
export function postgresCounter(pool: pg.Pool): RequestCounter {
  return {
    count: (caller, perMinute) => countRequest(pool, caller, perMinute),
    check: () => assertCountable(pool),
    close: async () => {},
  };
}

/** A request waits no longer for its admission. Redis normally responds within a millisecond. */
const timeoutMs = 1000;

/** One atomic step by Redis' own clock, so that processes with different clocks count alike. */
const script = `
local time = redis.call('TIME')
local now = tonumber(ARGV[2]) or (time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 60000)
local used = redis.call('ZCARD', KEYS[1])
local admitted = 0
if used < tonumber(ARGV[1]) then
  admitted = 1
  used = used + 1
  redis.call('ZADD', KEYS[1], now, time[1] .. time[2] .. ':' .. used)
  redis.call('PEXPIRE', KEYS[1], 60000)
end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {admitted, used, oldest[2] or tostring(now), tostring(now)}`;

/**
 * Keeps a sorted set of request times for each caller.
 *
 * @param options.namespace prefix of every key; `clock` replaces Redis' clock in a test.
 * @param options.openCluster opens a cluster client when `url` turns out to be a cluster node.
 * @param options.onError receives connection errors; the client reconnects by itself.
 */
export function redisCounter(options: {
  url: string;
  namespace: string;
  openCluster: (ofNode: { connectTimeout: number; commandTimeout: number; maxRetriesPerRequest: number }) => Cluster;
  onError: (error: Error) => void;
  clock?: Pick<Clock, 'now'>;
}): RequestCounter {
  const settings = { connectTimeout: 5000, commandTimeout: timeoutMs, maxRetriesPerRequest: 1 };
  let redis: Redis | Cluster = new Redis(options.url, {
    ...settings,
    retryStrategy: (times) => Math.min(times * 200, 5000),
  });
  const prepare = () => {
    redis.on('error', options.onError);
    redis.defineCommand('countRequest', { lua: script, numberOfKeys: 1 });
  };
  prepare();
  const run = (...words: [key: string, perMinute: number, now: number | '']) =>
    (redis as unknown as { countRequest(...words: unknown[]): Promise<[number, number, string, string]> }).countRequest(
      ...words,
    );
  return {
    async count(caller, perMinute) {
      const words = [`${options.namespace}:served:${caller}`, perMinute, options.clock?.now() ?? ''] as const;
      const client = redis;
      const answer = await run(...words).catch((error: unknown) => {
        if (redis === client) {
          // The URL is a cluster node, and another node holds this caller's key.
          if (!(error instanceof Error && error.message.startsWith('MOVED '))) throw error;
          redis = options.openCluster(settings);
          prepare();
          // Pending requests on the old connection complete first.
          client.quit().catch(() => client.disconnect());
        }
        return run(...words);
      });
      const [admitted, used, oldest, nowMs] = answer;
      return { admitted: admitted === 1, used, oldestMs: Number(oldest), nowMs: Number(nowMs) };
    },
    async check() {
      await redis.ping();
    },
    async close() {
      redis.disconnect();
    },
  };
}
