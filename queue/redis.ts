/** BullMQ on Redis. */

import { type BackendFactory, createRedisBackend, type IQueueBackend } from 'bullmq';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { TidemarkError } from '../errors.ts';
import type { QueueStore } from './queue-store.ts';

const connectTimeoutMs = 5000;
/** What BullMQ's documentation recommends at least. */
const oldestVersion = [6, 2] as const;

/** @param namespace prefix of every key. */
export function redisStore(options: { url: string; namespace: string; log: Logger }): QueueStore {
  const connect: BackendFactory<IQueueBackend, 'queue' | 'worker'> = (name, opts, extra) => {
    const redis = {
      ...opts,
      prefix: options.namespace,
      connection: {
        url: options.url,
        connectTimeout: connectTimeoutMs,
        retryStrategy: (times: number) => Math.min(times * 200, 5000),
        // A worker waits for Redis to come back however long it takes; BullMQ sees to that. A producer says so
        // after about three seconds, so that a planning pass fails instead of hanging.
        ...(opts.connection === 'queue' ? { maxRetriesPerRequest: 5 } : {}),
      },
    };
    return createRedisBackend(name, redis, extra);
  };
  return { kind: 'redis', connect, check: () => check(options.url, options.log) };
}

async function check(url: string, log: Logger): Promise<void> {
  const { host } = new URL(url);
  const probe = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    commandTimeout: connectTimeoutMs,
    retryStrategy: () => null,
  });
  // The cause of a failed connect comes as an event, and `connect` rejects with "Connection is closed".
  let cause: Error | undefined;
  probe.on('error', (error: Error) => {
    cause = error;
  });
  let info: string;
  try {
    await probe.connect();
    info = await probe.info();
  } catch (error) {
    const reason = cause ?? (error instanceof Error ? error : new Error(String(error)));
    throw new TidemarkError('QUEUE_UNREACHABLE', `Redis at ${host}: ${reasonOf(reason)}`, { cause: reason });
  } finally {
    probe.disconnect();
  }
  const version = /^redis_version:(\d+)\.(\d+)/m.exec(info);
  if (version !== null && isOlder([Number(version[1]), Number(version[2])], oldestVersion)) {
    throw new TidemarkError('QUEUE_UNREACHABLE', `Redis at ${host} is version ${version[1]}.${version[2]}`, {
      remedy: `use Redis ${oldestVersion.join('.')} or newer`,
    });
  }
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    log.warn({ policy }, 'Redis may evict the queue: set maxmemory-policy to noeviction');
  }
}

function reasonOf(error: Error): string {
  return error.message !== '' ? error.message : 'code' in error ? String(error.code) : error.name;
}

function isOlder(version: readonly [number, number], than: readonly [number, number]): boolean {
  return version[0] < than[0] || (version[0] === than[0] && version[1] < than[1]);
}
