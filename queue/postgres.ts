/** BullMQ on PostgreSQL: in a schema of its own, in the database that also holds the data. */

import {
  assertSchemaCompatibility,
  type BackendFactory,
  createPostgresBackend,
  type IQueueBackend,
  PostgresQueueBackend,
  runMigrations,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
} from 'bullmq';
import pg from 'pg';
import { TidemarkError } from '../errors.ts';
import type { QueueStore } from './queue-store.ts';

const connectTimeoutMs = 5000;
/** Its statements take milliseconds. A connection on which an answer takes longer is given up. */
const answerTimeoutMs = 15_000;
const keepAliveMs = 10_000;

/** @param namespace the schema is named `<namespace>_queue`. */
export function postgresStore(options: { url: string; namespace: string }): QueueStore {
  const connect: BackendFactory<IQueueBackend, 'queue' | 'worker'> = (name, opts, extra) => {
    const connection = {
      ...settingsOf(options.url),
      schema: schemaOf(options.namespace),
      // A worker also holds one connection that listens. Its queries are short, so a few serve any concurrency.
      max: opts.connection === 'worker' ? 4 : 2,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: answerTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
    };
    const backend = createPostgresBackend(name, { ...opts, connection }, extra);
    if (backend instanceof PostgresQueueBackend) replaceSilentListener(backend.connection);
    return backend;
  };
  return { kind: 'postgres', connect, check: () => check(options).then(() => null) };
}

/**
 * BullMQ makes a new connection to listen by when the one that it has breaks, and takes one that only gives no answer for
 * whole: it would ask it again for ever. So that one is broken.
 */
function replaceSilentListener(connection: PostgresQueueBackend['connection']): void {
  const given = connection.getListenClient.bind(connection);
  const watched = new WeakSet<object>();
  connection.getListenClient = async () => {
    const client = await given();
    if (watched.has(client)) return client;
    watched.add(client);
    const ask = client.query.bind(client) as (...query: unknown[]) => Promise<never>;
    client.query = async (...query: unknown[]) => {
      try {
        return await ask(...query);
      } catch (error) {
        const { stream } = (client as unknown as pg.Client).connection;
        if (error instanceof Error && error.message === 'Query read timeout') stream.destroy(error);
        throw error;
      }
    };
    return client;
  };
}

/** Creates the queue's schema, or brings it up to date. Safe to run twice at once: BullMQ takes an advisory lock. */
export async function migratePostgresQueue(options: { url: string; namespace: string }): Promise<void> {
  await withClient(options.url, (client) => runMigrations(client, schemaOf(options.namespace)));
}

/** Drops the queue's schema with all that is in it. What was queued is planned again from coverage. */
export async function dropPostgresQueue(options: { url: string; namespace: string }): Promise<void> {
  await withClient(options.url, (client) =>
    client.query(`drop schema if exists ${pg.escapeIdentifier(schemaOf(options.namespace))} cascade`),
  );
}

// BullMQ remembers a failed first connection for ever: a queue made too early would never work. So this comes first.
async function check(options: { url: string; namespace: string }): Promise<void> {
  try {
    await withClient(options.url, (client) => assertSchemaCompatibility(client, schemaOf(options.namespace)));
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) {
      throw new TidemarkError('DATABASE_NOT_MIGRATED', `the database holds no schema ${error.schema}`, {
        cause: error,
      });
    }
    if (error instanceof SchemaVersionMismatchError) {
      throw new TidemarkError(
        'DATABASE_NOT_MIGRATED',
        'the queue was migrated by a newer version of Tidemark',
        {
          cause: error,
          remedy: 'run the newer version',
        },
      );
    }
    throw error;
  }
}

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  // An error that comes while no query runs would end the process; the next query reports it.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    const why = reason.message !== '' ? reason.message : 'code' in reason ? String(reason.code) : reason.name;
    throw new TidemarkError('DATABASE_UNREACHABLE', `PostgreSQL at ${new URL(url).host}: ${why}`, {
      cause: reason,
    });
  }
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function schemaOf(namespace: string): string {
  return `${namespace}_queue`;
}

/** BullMQ passes the schema in the connection's `options`, which those of the URL would replace: both are joined. */
function settingsOf(url: string): { connectionString: string; options?: string } {
  const parsed = new URL(url);
  const options = parsed.searchParams.get('options');
  if (options === null) return { connectionString: url };
  parsed.searchParams.delete('options');
  return { connectionString: parsed.href, options };
}
