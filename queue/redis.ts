/** BullMQ on Redis, by itself or as a cluster. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { BackendFactory, IQueueBackend } from 'bullmq';
import type { RedisOptions } from 'ioredis';
import type { Clock } from '../clock.ts';
import { codeOf, errorOf, TidemarkError } from '../errors.ts';
import { failWithCause, useRedisClients } from './bullmq-internals.ts';
import { Cluster, createRedisBackend, Redis } from './packages.ts';
import { errorText, type QueueStore, redisTrouble } from './queue-store.ts';

const connectTimeoutMs = 5000;
const refusalTimeoutMs = 1000;

useRedisClients(({ url, ...settings }) => {
  if (typeof url !== 'string') return new Redis(settings);
  const client =
    inCluster in settings ? openCluster(url, { maxRetriesPerRequest: null, ...settings }) : new Redis(url, settings);
  const connected = connectionOption in settings ? settings[connectionOption] : undefined;
  if (connected instanceof ConnectionState) connected.follow(client);
  return client;
});

/** Option that holds the state of a store's connections. BullMQ passes it on. */
const connectionOption = 'tidemarkConnection';

/** Whether the connections of a store are lost: the last event of any of them was an error. */
class ConnectionState {
  error: Error | null = null;

  follow(client: Redis | Cluster): void {
    // BullMQ removes its own listeners when it closes, and the client still reports a failed reconnect.
    client.on('error', (error: Error) => {
      this.error = error;
    });
    client.on('ready', () => {
      this.error = null;
    });
    if (client instanceof Redis) failWithCause(client, () => this.error);
  }
}

/** Option that requests a cluster client. BullMQ passes it on. */
const inCluster = 'tidemarkCluster';

/** Short throughout an outage, so that each command fails within seconds. */
const producerRetryMs = (times: number) => Math.min(times * 200, 1000);
const retryMs = (times: number) => Math.min(times * 200, 5000);

/** @param namespace prefix of every key. */
export function redisStore(options: { clock: Clock; url: string; namespace: string }): QueueStore {
  let isCluster = false;
  const connected = new ConnectionState();
  const own = databaseOf(options.url);
  const connectQueue: BackendFactory<IQueueBackend, 'queue' | 'worker'> = (name, opts, extra) => {
    const redis = {
      ...opts,
      // Hash tag: a cluster keeps all keys on one node, as BullMQ's scripts require.
      prefix: `{${options.namespace}}`,
      connection: {
        url: options.url,
        [connectionOption]: connected,
        ...(isCluster ? { [inCluster]: true } : {}),
        connectTimeout: connectTimeoutMs,
        retryStrategy: retryMs,
        // BullMQ lets a worker wait for Redis without limit. A producer fails after about three seconds, so that a
        // planning pass does not hang.
        ...(opts.connection === 'queue' ? { maxRetriesPerRequest: 5, retryStrategy: producerRetryMs } : {}),
      },
    };
    const backend = createRedisBackend(name, redis, extra);
    const listClients = backend.getClientList.bind(backend);
    // Redis lists the clients of all its databases. Those of another one work on other queues of the same name. A
    // cluster has one database.
    backend.getClientList = async () =>
      (await listClients()).map((clients) => clientsOf(isCluster ? '0' : own, clients));
    return backend;
  };
  return {
    kind: 'redis',
    connect: connectQueue,
    isLost: () => connected.error !== null,
    async check() {
      const info = await infoOf(options.url, options.clock);
      isCluster = clusterMode.test(info);
      const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
      if (policy === undefined || policy === 'noeviction') return null;
      return `Redis may evict the queue: its maxmemory-policy is ${policy}, and should be noeviction`;
    },
    close: async () => {},
  };
}

/** The number in `redis://host/1` or `redis://host?db=1`, as ioredis reads it. */
function databaseOf(url: string): string {
  const { pathname, searchParams } = new URL(url);
  return searchParams.get('db') ?? (pathname.slice(1) || '0');
}

function clientsOf(database: string, clients: string): string {
  const isOther = (client: string) => (/ db=(\d+)/.exec(client)?.[1] ?? database) !== database;
  return clients
    .split('\n')
    .filter((client) => !isOther(client))
    .join('\n');
}

const clusterMode = /^redis_mode:cluster/m;

/** Reads the server's INFO. @throws TidemarkError QUEUE_UNREACHABLE, also when it is too old. */
async function infoOf(url: string, clock: Clock): Promise<string> {
  const { host } = new URL(url);
  const probe = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    commandTimeout: connectTimeoutMs,
    retryStrategy: () => null,
  });
  // The cause of a failed connect is an event; `connect` itself rejects with "Connection is closed".
  let cause: Error | undefined;
  probe.on('error', (error: Error) => {
    cause = error;
  });
  let info: string;
  try {
    await probe.connect();
    info = await probe.info();
    // ioredis falls back to database 0 if the database does not exist.
    if (cause !== undefined) throw cause;
    const trouble = clusterMode.test(info) ? redisErrorText(await probe.call('cluster', 'slots')) : null;
    if (trouble !== null) throw new Error(trouble);
  } catch (error) {
    const reason = cause ?? errorOf(error);
    const refusal = isBroken(reason) ? await refusalOf(url, clock) : null;
    throw new TidemarkError('QUEUE_UNREACHABLE', redisTrouble(url, refusal ?? errorText(reason)), { cause: reason });
  } finally {
    probe.disconnect();
  }
  // BullMQ's documentation recommends 6.2 at least.
  const [, major, minor] = /^redis_version:(\d+)\.(\d+)/m.exec(info) ?? [];
  if (major !== undefined && 1000 * Number(major) + Number(minor) < 6002) {
    throw new TidemarkError('QUEUE_UNREACHABLE', `Redis at ${host} is version ${major}.${minor}`, {
      remedy: 'use Redis 6.2 or newer',
    });
  }
  return info;
}

/** Whether the connection ended before an answer came. */
function isBroken(error: Error): boolean {
  return ['EPIPE', 'ECONNRESET'].includes(String(codeOf(error))) || error.message.startsWith('Connection is closed');
}

/**
 * Reads why the server refuses a connection, for example in protected mode. The server sends the reason and closes the
 * connection; a client that writes first gets EPIPE and never reads it.
 */
async function refusalOf(url: string, clock: Clock): Promise<string | null> {
  const { hostname, port, protocol } = new URL(url);
  const at = { host: hostname, port: Number(port || 6379) };
  const socket = protocol === 'rediss:' ? connectTls(at) : connect(at);
  const late = new AbortController();
  const timer = clock.after(refusalTimeoutMs, () => late.abort());
  try {
    const [data] = await once(socket, 'data', { signal: late.signal });
    return /^-(.+)/.exec(String(data))?.[1] ?? null;
  } catch {
    return null;
  } finally {
    timer.stop();
    socket.destroy();
  }
}

type NodeOptions = Pick<RedisOptions, 'connectTimeout' | 'commandTimeout' | 'maxRetriesPerRequest'>;

/** @param url of any node. The other nodes are discovered by address, and get the same user, password and TLS. */
export function openCluster(url: string, ofNode: NodeOptions): Cluster {
  const { username, password, protocol } = new URL(url);
  return new Cluster([url], {
    clusterRetryStrategy: retryMs,
    redisOptions: {
      ...ofNode,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' ? { tls: {} } : {}),
    },
  });
}

/**
 * Why clients cannot use the cluster; null: they can.
 *
 * @param slots the reply to `CLUSTER SLOTS`: ranges of slots, each with its nodes.
 */
function redisErrorText(slots: unknown): string | null {
  if (!Array.isArray(slots) || slots.length === 0) return 'no node of the cluster holds any slots';
  const hosts = slots.map((range: unknown) => (Array.isArray(range) && Array.isArray(range[2]) ? range[2][0] : ''));
  // A cluster of a single node does not know its own address.
  return hosts.every((host) => typeof host === 'string' && host !== '')
    ? null
    : 'a node of the cluster does not say where it is: set cluster-announce-ip';
}
