/** Parts from a Docker engine, where there is one. */

import { existsSync } from 'node:fs';
import type { StartedTestContainer } from 'testcontainers';
import { type DatabasePart, describeServer } from './database-part.ts';
import type { ServerSettings } from './throw-away-cluster.ts';

/** The images of docker-compose.yml. */
const timescaleImage = 'timescale/timescaledb:2.28.3-pg18';
const redisImage = 'redis:8.2.9-bookworm';

const noEngine = 'there is no Docker engine';

// Loading testcontainers takes a while, and most machines without an engine can be told at a glance.
const mayHaveEngine = () =>
  process.env.DOCKER_HOST !== undefined ||
  existsSync('/var/run/docker.sock') ||
  ['darwin', 'win32'].includes(process.platform);

/** Starts TimescaleDB, or says why not. @param settings beside the tests' own, and instead of them. */
export async function dockerTimescale(settings: ServerSettings = {}): Promise<DatabasePart | string> {
  if (!mayHaveEngine()) return noEngine;
  const all = { fsync: 'off', max_connections: 300, max_worker_processes: 64, ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  try {
    const { GenericContainer, Wait } = await import('testcontainers');
    const container = await new GenericContainer(timescaleImage)
      .withEnvironment({
        POSTGRES_PASSWORD: 'throw-away',
        TIMESCALEDB_TELEMETRY: 'off',
        TS_TUNE_MAX_BG_WORKERS: '48',
      })
      .withCommand(['postgres', ...flags])
      .withExposedPorts(5432)
      // The image starts the server twice: once to set it up, then for good.
      .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
      .start();
    const url = `postgres://postgres:throw-away@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
    return {
      url,
      ...(await describeServer(url)),
      how: `Docker image ${timescaleImage}`,
      stop: () => stop(container),
    };
  } catch (error) {
    return reason(error);
  }
}

/** Starts Redis, or says why not. */
export async function dockerRedis(): Promise<{ url: string; how: string; stop(): Promise<void> } | string> {
  if (!mayHaveEngine()) return noEngine;
  try {
    const { GenericContainer } = await import('testcontainers');
    const container = await new GenericContainer(redisImage)
      .withCommand(['redis-server', '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'])
      .withExposedPorts(6379)
      .start();
    const url = `redis://${container.getHost()}:${container.getMappedPort(6379)}`;
    return { url, how: `Docker image ${redisImage}`, stop: () => stop(container) };
  } catch (error) {
    return reason(error);
  }
}

async function stop(container: StartedTestContainer): Promise<void> {
  await container.stop();
}

function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.includes('container runtime') ? noEngine : `Docker: ${message.split('\n')[0]}`;
}
