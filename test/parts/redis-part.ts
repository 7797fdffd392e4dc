/** The Redis for a test run, and where it comes from. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { asPresentUser } from '../../embedded/unprivileged.ts';
import { dockerRedis, fromContainers, isFromContainers } from './docker-container.ts';
import { freePort } from './free-port.ts';
import { startTethered, type Tethered } from './tethered.ts';
import { waitFor } from './wait-for.ts';

export interface RedisPart {
  readonly url: string;
  readonly server: string;
  readonly how: string;
  stop(): Promise<void>;
}

/** The first of TEST_REDIS_URL, the machine's `redis-server` and a Docker image, or the reason why there is none. */
export async function obtainRedis(): Promise<RedisPart | string> {
  const given = process.env.TEST_REDIS_URL;
  if (given) return { url: given, server: await describe(given), how: 'TEST_REDIS_URL', stop: async () => {} };
  const local = isFromContainers ? fromContainers : await localRedis();
  if (typeof local !== 'string') return local;
  const docker = await dockerRedis();
  if (typeof docker !== 'string') return { ...docker, server: await describe(docker.url) };
  return `${local}, and ${docker}`;
}

async function localRedis(): Promise<RedisPart | string> {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
  } catch {
    return 'redis-server is not installed';
  }
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-test-redis-'));
  const url = `redis://127.0.0.1:${port}`;
  try {
    const server = await startRedis({ port, directory, removed: directory });
    return { url, server: await describe(url), how: 'a throw-away redis-server', stop: () => server.stop() };
  } catch (error) {
    return `redis-server did not start: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * It does not save to the disk by itself.
 *
 * @param place.removed the directory that goes with the server; empty: none.
 */
export async function startRedis(place: {
  port: number;
  directory: string;
  removed: string;
  flags?: Readonly<Record<string, string>>;
}): Promise<Tethered> {
  const { port, directory, removed } = place;
  const flags = {
    port,
    bind: '127.0.0.1',
    dir: directory,
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    ...place.flags,
  };
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = startTethered(['redis-server', ...words], {
    launch: asPresentUser,
    signal: 'TERM',
    directory: removed,
  });
  try {
    await waitFor('the throw-away Redis to answer', async () => {
      if (!server.isRunning()) throw new Error(server.output().split('\n').at(-1));
      return await describe(`redis://127.0.0.1:${port}`).then(
        () => true,
        () => false,
      );
    });
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function describe(url: string): Promise<string> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  // The rejected call below reports the same error. Without a listener it would end the run.
  redis.on('error', () => {});
  try {
    await redis.connect();
    const info = await redis.info('server');
    return `Redis ${/redis_version:(\S+)/.exec(info)?.[1] ?? 'of unknown version'}`;
  } finally {
    redis.disconnect();
  }
}
