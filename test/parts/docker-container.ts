/** Parts from a Docker engine, if there is one. */

import { existsSync } from 'node:fs';
import type { StartedTestContainer } from 'testcontainers';
import { composeImage } from './compose-images.ts';
import { type DatabasePart, describeServer } from './database-part.ts';
import type { ServerSettings } from './throw-away-cluster.ts';

const timescaleImage = composeImage('timescale/timescaledb');
const redisImage = composeImage('redis');

/** TEST_PARTS=docker takes database and Redis from containers, even if they are installed. */
export const isFromContainers = process.env.TEST_PARTS === 'docker';
export const fromContainers = 'TEST_PARTS=docker leaves out what is installed';

const noEngine = 'there is no Docker engine';

// Loading testcontainers is slow, and this quick check recognizes most machines without an engine.
const mayHaveEngine = () =>
  process.env.DOCKER_HOST !== undefined ||
  existsSync('/var/run/docker.sock') ||
  ['darwin', 'win32'].includes(process.platform);

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
        TS_TUNE_MAX_BG_WORKERS: String(settings['timescaledb.max_background_workers'] ?? 1),
      })
      .withCommand(['postgres', ...flags])
      .withExposedPorts(5432)
      // Over TCP: while the image initializes the database, it listens on its socket only.
      .withWaitStrategy(Wait.forSuccessfulCommand('pg_isready --quiet --host=127.0.0.1'))
      .start();
    const url = `postgres://postgres:throw-away@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
    return { url, ...(await describeServer(url)), how: `Docker image ${timescaleImage}`, stop: () => stop(container) };
  } catch (error) {
    return reason(error);
  }
}

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
