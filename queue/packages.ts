/**
 * BullMQ and ioredis, loaded by `require`: an `import` of a CommonJS package reads each of its files twice, the first
 * time for the names of its exports. That was a sixth of the start of each command that reads the queue.
 */

import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
const bullmq: typeof import('bullmq') = load('bullmq');
const ioredis: typeof import('ioredis') = load('ioredis');

export const {
  assertSchemaCompatibility,
  createIORedisClient,
  createPostgresBackend,
  createRedisBackend,
  DelayedError,
  PostgresQueueBackend,
  RedisConnection,
  runMigrations,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
  WaitingError,
  withBackend,
} = bullmq;
export const { Cluster, Redis } = ioredis;

export type Cluster = import('ioredis').Cluster;
export type PostgresQueueBackend = import('bullmq').PostgresQueueBackend;
export type Redis = import('ioredis').Redis;
