/** The counter on Redis: a sorted set of times a caller. */

import { type Cluster, Redis } from 'ioredis';
import type { RequestCounter } from './request-counter.ts';

/** A request does not wait longer for its admission; Redis answers within a millisecond, or is away. */
const timeoutMs = 1000;

/** One step, by Redis' own clock, so that no two processes count a request twice or by different times. */
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
 * @param options.namespace prefix of every key; `now` replaces Redis' clock in a test.
 * @param options.openCluster opens the cluster that `url` turns out to be a node of.
 * @param options.onError told of a lost connection, which is made anew by itself.
 */
export function redisCounter(options: {
  url: string;
  namespace: string;
  openCluster: (ofNode: {
    connectTimeout: number;
    commandTimeout: number;
    maxRetriesPerRequest: number;
  }) => Cluster;
  onError: (error: Error) => void;
  now?: () => number;
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
    (
      redis as unknown as {
        countRequest(...words: unknown[]): Promise<[number, number, string, string]>;
      }
    ).countRequest(...words);
  return {
    async count(caller, perMinute) {
      const words = [`${options.namespace}:served:${caller}`, perMinute, options.now?.() ?? ''] as const;
      const asked = redis;
      const answer = await run(...words).catch((error: unknown) => {
        if (redis === asked) {
          // Another node of a cluster holds this caller's key.
          if (!(error instanceof Error && error.message.startsWith('MOVED '))) throw error;
          redis = options.openCluster(settings);
          prepare();
          // Requests that it counts already get their answers first.
          asked.quit().catch(() => asked.disconnect());
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
