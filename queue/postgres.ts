/** BullMQ on PostgreSQL: in a schema of its own, in the database that also holds the data. */

import type { BackendFactory, IQueueBackend } from 'bullmq';
import pg from 'pg';
import { errorOf, TidemarkError } from '../errors.ts';
import {
  claimInTurn,
  countPauseFromClaim,
  pollWithoutListener,
  retryFirstUse,
  waitAtMost,
} from './bullmq-internals.ts';
import {
  assertSchemaCompatibility,
  createPostgresBackend,
  PostgresQueueBackend,
  runMigrations,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
} from './packages.ts';
import { openConnections } from './postgres-connections.ts';
import { errorText, type QueueStore } from './queue-store.ts';

/** Of a server that is away, a busy one takes seconds. */
const defaultConnectTimeoutMs = 10_000;
/** Its statements take milliseconds. A connection that stays silent for longer is dropped. */
const answerTimeoutMs = 15_000;
const keepAliveMs = 10_000;
/** As on Redis. BullMQ lets a worker look every 5 s if no job is delayed. */
const waitMs = 10_000;
/** How often a worker looks while no connection can listen, as on a full server. */
const pollMs = 1000;

interface PostgresQueue {
  readonly url: string;
  /** The schema is named `<namespace>_queue`. */
  readonly namespace: string;
  /** How long the server may take for a connection; 10 s by default. */
  readonly connectTimeoutMs?: number | undefined;
}

/** @param prepare is given the pool before its first connection. */
export function postgresStore(options: PostgresQueue, prepare: (pool: pg.Pool) => void = () => {}): QueueStore {
  const { connectTimeoutMs = defaultConnectTimeoutMs } = options;
  const schema = schemaOf(options.namespace);
  const { connectionString, options: settings } = settingsOf(options.url);
  const connections = openConnections(
    {
      connectionString,
      options: `${settings} -c search_path=${pg.escapeIdentifier(schema)}`,
      connectionTimeoutMillis: connectTimeoutMs,
      // A new connection loads the catalogue, and compiles BullMQ's functions.
      idleTimeoutMillis: 60_000,
      query_timeout: Math.max(answerTimeoutMs, connectTimeoutMs),
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
    },
    prepare,
  );
  const connect: BackendFactory<IQueueBackend, 'queue' | 'worker'> = (name, opts, extra) => {
    const backend = createPostgresBackend(name, { ...opts, connection: connections.shownPool }, extra);
    if (backend instanceof PostgresQueueBackend) {
      connections.share(backend, { schema, workers: `${name}:w:${options.namespace}` });
      pollWithoutListener(backend, pollMs);
      retryFirstUse(backend);
      claimInTurn(backend);
      countPauseFromClaim(backend);
      waitAtMost(backend, waitMs);
    }
    return backend;
  };
  return {
    kind: 'postgres',
    connect,
    // Queries fail at once when a connection breaks, and after a time when it stays silent.
    isLost: () => false,
    check: () => check(connections.pool, options).then(() => null),
    close: () => connections.close(),
  };
}

/** Creates or upgrades the queue's schema. Safe to run concurrently: BullMQ takes an advisory lock. */
export async function migratePostgresQueue(options: PostgresQueue): Promise<void> {
  await withClient(options, (client) => runMigrations(client, schemaOf(options.namespace)));
}

/** Drops the queue's schema. The scheduler plans the queued windows again from coverage. */
export async function dropPostgresQueue(options: PostgresQueue): Promise<void> {
  await withClient(options, (client) =>
    client.query(`drop schema if exists ${pg.escapeIdentifier(schemaOf(options.namespace))} cascade`),
  );
}

// BullMQ's own error for a first connection that fails does not say what to do.
async function check(pool: pg.Pool, { url, namespace }: PostgresQueue): Promise<void> {
  const client = await pool.connect().catch((error: unknown) => {
    throw unreachable(url, error);
  });
  let failure: unknown;
  try {
    await assertSchemaCompatibility(client, schemaOf(namespace));
  } catch (error) {
    failure = error;
    if (error instanceof SchemaMigrationRequiredError) {
      const message = `the database holds no schema ${error.schema}`;
      throw new TidemarkError('DATABASE_NOT_MIGRATED', message, { cause: error });
    }
    if (error instanceof SchemaVersionMismatchError) {
      const message = 'the queue was migrated by a newer version of Tidemark';
      const remedy = 'run the newer version';
      throw new TidemarkError('DATABASE_NOT_MIGRATED', message, { cause: error, remedy });
    }
    throw error;
  } finally {
    // A connection that stopped responding does not go back to the pool.
    client.release(failure !== undefined);
  }
}

async function withClient(
  { url, connectTimeoutMs = defaultConnectTimeoutMs }: PostgresQueue,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  // Without a listener an error between queries ends the process. The next query reports it.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw unreachable(url, error);
  }
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function unreachable(url: string, error: unknown): TidemarkError {
  const reason = errorOf(error);
  const message = `PostgreSQL at ${new URL(url).host}: ${errorText(reason)}`;
  return new TidemarkError('DATABASE_UNREACHABLE', message, { cause: reason });
}

export function schemaOf(namespace: string): string {
  return `${namespace}_queue`;
}

/**
 * A claim holds its queue's lock until its commit is on disk, with all that workers are storing at the time. Not
 * waiting for the disk is as Redis does it by default: a server that crashes may forget the last half second. Jobs are
 * then run or planned again, from coverage, which is on disk.
 */
const withoutWait = '-c synchronous_commit=off';

/** The schema is passed in the connection's `options`. Those of the URL would replace it, so they are joined. */
function settingsOf(url: string): { connectionString: string; options: string } {
  const parsed = new URL(url);
  const given = parsed.searchParams.get('options');
  if (given === null) return { connectionString: url, options: withoutWait };
  parsed.searchParams.delete('options');
  return { connectionString: parsed.href, options: `${withoutWait} ${given}` };
}
