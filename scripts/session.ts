/** What a command works with: configuration, log, and the database, the embedded one included. */

import type { Logger } from 'pino';
import { type Config, type LogLevel, readConfig } from '../config.ts';
import { exitCodes, TidemarkError } from '../errors.ts';
import { createLog, secretsOf } from '../log.ts';
import { migrateQueueBackend, openQueueBackend, type QueueBackend } from '../queue/backend.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { acquireEmbeddedDatabase } from '../store/embedded/acquire.ts';
import { assertRoom } from '../store/embedded/failure.ts';
import { explainDatabaseError } from '../store/failure.ts';
import { assertMigrated, migrate } from '../store/migrate.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { type OpenMetrics, openMetrics } from './measuring.ts';
import { openTracing } from './tracing.ts';

export interface Session {
  readonly config: Config;
  readonly log: Logger;
  readonly database: Database;
  /** Whether the database is the one under `.tidemark/`. */
  readonly embedded: boolean;
  /** What it counts; null: nothing is counted. */
  readonly metrics: OpenMetrics | null;
  /** What it traces; null: nothing is traced. */
  readonly tracing: Tracing | null;
  openQueues(): Promise<QueueBackend>;
  /**
   * Call it now and then while writing. @throws TidemarkError DATABASE_FULL while the embedded database can still
   * stop in order.
   */
  assertRoom(): void;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Shown in pg_stat_activity. */
  readonly command: string;
  readonly defaultLogLevel: LogLevel;
  /** Instead of the environment's. */
  readonly config?: Config;
  /** Whether the command itself sees to Ctrl-C and SIGTERM. Otherwise they close the session and end the process. */
  readonly handlesSignals?: boolean;
  /** Whether METRICS_PORT and OTEL_EXPORTER_OTLP_ENDPOINT are for this command: those that go on until they are stopped. */
  readonly isMeasured?: boolean;
}

/**
 * Reads the configuration; a `.env` file beside the command counts where the environment has no value.
 *
 * @throws TidemarkError BAD_CONFIGURATION
 */
export function configFromEnvironment(): Config {
  try {
    process.loadEnvFile();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) {
      const why = error instanceof Error ? error.message : String(error);
      throw new TidemarkError('BAD_CONFIGURATION', `.env cannot be read: ${why}`, {
        cause: error,
        remedy: 'make it a file that this user may read, or take it away',
      });
    }
  }
  return readConfig(process.env);
}

/**
 * Opens the database. The embedded one is started and migrated; one that `DATABASE_URL` names is only checked.
 *
 * @throws TidemarkError for every cause that a user can do something about.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const config = options.config ?? configFromEnvironment();
  const log = createLog(config.logLevel ?? options.defaultLogLevel, secretsOf(config));
  // First, so that a port that is taken is refused at once.
  const metrics = options.isMeasured === true ? await openMetrics(options.command, config, log) : null;
  const tracing = options.isMeasured === true ? await openTracing(options.command, config, log) : null;
  const { url, release } = await databaseOf(config, log).catch(async (error: unknown) => {
    await metrics?.close();
    await tracing?.close();
    throw error;
  });
  const queueOptions = {
    redisUrl: config.queue.redisUrl,
    databaseUrl: url,
    namespace: config.queue.namespace,
  };
  const embedded = config.database.url === undefined;
  const database = openDatabase({
    url,
    applicationName: `tidemark ${options.command}`,
    maxConnections: config.database.connections,
    statementTimeoutMs: config.database.statementTimeoutMs,
    onIdleError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
  metrics?.watchPool('work', database.pool);
  const onSignal = () => void close().finally(() => process.exit(exitCodes.interrupted));
  async function close(): Promise<void> {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
    process.off('SIGHUP', onSignal);
    await metrics?.close();
    await tracing?.close();
    await database.close();
    await release();
  }
  if (options.handlesSignals !== true) {
    process.once('SIGINT', onSignal);
    process.once('SIGTERM', onSignal);
    process.once('SIGHUP', onSignal);
  }
  try {
    if (embedded) {
      await migrate({ url, direction: 'up', ifBusy: 'wait', storage: config.storage });
      await migrateQueueBackend(queueOptions, 'up');
    }
    await assertMigrated(database.pool);
  } catch (error) {
    await close();
    throw explainDatabaseError(error);
  }
  return {
    config,
    log,
    database,
    embedded,
    metrics,
    tracing,
    openQueues: () =>
      openQueueBackend({ ...queueOptions, attempts: config.worker.attempts, log, carry: tracing?.carry }),
    assertRoom: () => {
      if (embedded) assertRoom(config.directory);
    },
    close,
  };
}

/** The database's address, and how to give it back. */
export async function databaseOf(
  config: Config,
  log: Logger,
): Promise<{ url: string; release(): Promise<void> }> {
  if (config.database.url !== undefined) return { url: config.database.url, release: async () => {} };
  return acquireEmbeddedDatabase({ directory: config.directory, log: (line) => log.info(line) });
}
