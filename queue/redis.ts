/** BullMQ on Redis, by itself or as a cluster. */

import {
  type BackendFactory,
  createIORedisClient,
  createRedisBackend,
  type IQueueBackend,
  RedisConnection,
} from 'bullmq';
import { Redis } from 'ioredis';
import { TidemarkError } from '../errors.ts';
import type { QueueStore } from './queue-store.ts';
import { clusterAt, troubleOf } from './redis-cluster.ts';

const connectTimeoutMs = 5000;
/** What BullMQ's documentation recommends at least. */
const oldestVersion = [6, 2] as const;

// BullMQ reads the eviction policy at every connection, and prints words of its own on standard error each time.
// What it asks for is answered without that line.
RedisConnection.clientFactory = ({ url, ...settings }) => {
  const client =
    inCluster in settings && typeof url === 'string'
      ? clusterAt(url, { clusterRetryStrategy: retryMs, ofNode: nodeSettings(settings) })
      : typeof url === 'string'
        ? new Redis(url, settings)
        : new Redis(settings);
  const info: (...words: never[]) => Promise<string> = client.info.bind(client);
  const quiet = async (...words: never[]) => {
    // ioredis itself asks with a callback.
    const said = await info(...words);
    return words.length === 0 ? said.replace(/^maxmemory_policy:.*$/m, '') : said;
  };
  return createIORedisClient(Object.assign(client, { info: quiet }));
};

/** How a client of a cluster is asked for: an option that BullMQ passes on. */
const inCluster = 'tidemarkCluster';

/** Of what BullMQ asks of a connection, what goes for those to each node. */
const nodeSettings = (asked: {
  readonly connectionName?: string;
  readonly maxRetriesPerRequest?: number | null;
}) => ({
  connectTimeout: connectTimeoutMs,
  maxRetriesPerRequest: asked.maxRetriesPerRequest ?? null,
  ...(asked.connectionName === undefined ? {} : { connectionName: asked.connectionName }),
});

const retryMs = (times: number) => Math.min(times * 200, 5000);

/** @param namespace prefix of every key. */
export function redisStore(options: { url: string; namespace: string }): QueueStore {
  let isCluster = false;
  const connect: BackendFactory<IQueueBackend, 'queue' | 'worker'> = (name, opts, extra) => {
    const redis = {
      ...opts,
      // In braces, so that a cluster keeps all keys at one node: BullMQ's scripts need several at once.
      prefix: `{${options.namespace}}`,
      connection: {
        url: options.url,
        ...(isCluster ? { [inCluster]: true } : {}),
        connectTimeout: connectTimeoutMs,
        retryStrategy: retryMs,
        // A worker waits for Redis to come back however long it takes; BullMQ sees to that. A producer says so
        // after about three seconds, so that a planning pass fails instead of hanging.
        ...(opts.connection === 'queue' ? { maxRetriesPerRequest: 5 } : {}),
      },
    };
    return createRedisBackend(name, redis, extra);
  };
  return {
    kind: 'redis',
    connect,
    async check() {
      const info = await infoOf(options.url);
      isCluster = clusterMode.test(info);
      const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
      if (policy === undefined || policy === 'noeviction') return null;
      return `Redis may evict the queue: its maxmemory-policy is ${policy}, and should be noeviction`;
    },
  };
}

const clusterMode = /^redis_mode:cluster/m;

/** What the server says of itself. @throws TidemarkError QUEUE_UNREACHABLE, also when it is too old. */
async function infoOf(url: string): Promise<string> {
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
    // ioredis goes on with database 0 where there is no such database.
    if (cause !== undefined) throw cause;
    const trouble = clusterMode.test(info) ? troubleOf(await probe.call('cluster', 'slots')) : null;
    if (trouble !== null) throw new Error(trouble);
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
  return info;
}

function reasonOf(error: Error): string {
  return error.message !== '' ? error.message : 'code' in error ? String(error.code) : error.name;
}

function isOlder(version: readonly [number, number], than: readonly [number, number]): boolean {
  return version[0] < than[0] || (version[0] === than[0] && version[1] < than[1]);
}
