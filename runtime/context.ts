/** The context of a command: configuration, log, database and queue. Starts the embedded database. */

import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../clock.ts';
import { acquireEmbeddedDatabase } from '../embedded/acquire.ts';
import { assertFreeSpace } from '../embedded/failure.ts';
import { hasDatabase } from '../embedded/home.ts';
import { codeOf, exitCodes, messageOf, TidemarkError } from '../errors.ts';
import { formatTime } from '../model/format.ts';
import type { OperationContext } from '../operations/context.ts';
import type { ShowPhase } from '../planning/progress.ts';
import { throttleLog } from '../queue/queue-store.ts';
import { assertMigrated, migrate } from '../schema/migrate.ts';
import { type Config, type LogLevel, misspelledVariables, readConfig, removedOnes } from '../settings/config.ts';
import { openLog } from '../settings/log.ts';
import { connectTimeoutMs, embeddedConnectTimeoutMs, openDatabase } from '../store/db/database.ts';
import { explainDatabaseError } from '../store/db/failure.ts';
import { leaveRoom } from '../store/db/spare-connections.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { type FileText, namesRanges, readWatchListFile } from '../watch-list/file.ts';
import { onStop, stopSignals } from './lifecycle.ts';
import { openPhases } from './phases.ts';
import { type OpenMetrics, openMetrics, openTracing } from './telemetry.ts';

export interface Context extends OperationContext {
  /** Whether it is the embedded database under `.tidemark/`. */
  readonly embedded: boolean;
  /** Null: no metrics. */
  readonly metrics: OpenMetrics | null;
  /** Null: no traces. */
  readonly tracing: Tracing | null;
  close(): Promise<void>;
}

export interface ContextOptions {
  /** Shown in pg_stat_activity. */
  readonly command: string;
  /**
   * Absent: `warn`; of a command that handles signals `error`, as log lines would break the drawing of its progress.
   */
  readonly defaultLogLevel?: LogLevel;
  /** Instead of the environment's. */
  readonly config?: Config;
  /** The command handles Ctrl-C and SIGTERM. Otherwise they close the context and end the process. */
  readonly handlesSignals?: boolean;
  /** Applies METRICS_PORT and OTEL_EXPORTER_OTLP_ENDPOINT, for commands that run until they are stopped. */
  readonly isMeasured?: boolean;
  /** The command has nothing to do without stored data, and creates no database. */
  readonly needsDatabase?: boolean;
  /** The command shows what is stored. It warns of a watch list with wrong sources, and goes on without the file's. */
  readonly showsStored?: boolean;
}

/**
 * Reads the configuration from the environment, then from `.env` in the working directory, and warns of misspelled
 * and removed variables on standard error.
 *
 * @throws TidemarkError BAD_CONFIGURATION
 */
export function configFromEnvironment(): Config {
  loadEnvFile();
  for (const { name, meant } of misspelledVariables(process.env))
    console.error(`tidemark: ${name} has no effect; the variable is ${meant}`);
  for (const { name, instead } of removedOnes(process.env))
    console.error(`tidemark: ${name} has no effect: ${instead}`);
  return readConfig(process.env);
}

/** @throws TidemarkError BAD_CONFIGURATION for a `.env` that cannot be read. */
export function loadEnvFile(): void {
  try {
    process.loadEnvFile();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw new TidemarkError('BAD_CONFIGURATION', `.env cannot be read: ${messageOf(error)}`, {
      cause: error,
      remedy: 'make it readable for this user, or remove it',
    });
  }
}

/** Loaded on demand: BullMQ takes as much time as all the rest of a command that needs no queue. */
const queueBackend = () => import('../queue/backend.ts');

/**
 * Opens the database. The embedded one is started and migrated; the one of `DATABASE_URL` is only checked. No phase is
 * left. The clock is that of this machine, by which commands also read the times among their arguments.
 *
 * @throws TidemarkError for every cause that a user can fix.
 */
export async function openContext(options: ContextOptions): Promise<Context> {
  const clock = systemClock;
  const settings = options.config ?? configFromEnvironment();
  if (options.needsDatabase === true && settings.database.url === undefined && !hasDatabase(settings.directory))
    throw new TidemarkError('NO_DATABASE', `there is no database in ${resolve(settings.directory)}`);
  const log = await openLog(
    settings.logLevel ?? options.defaultLogLevel ?? (options.handlesSignals ? 'error' : 'warn'),
  );
  const config = await withWatchList(settings, options, log, withRanges);
  // First, so that an occupied port fails at once.
  const metrics = options.isMeasured === true ? await openMetrics(options.command, { clock, config, log }) : null;
  const tracing = options.isMeasured === true ? await openTracing(options.command, { clock, config, log }) : null;
  const phases = openPhases(clock, options.defaultLogLevel === 'info' ? (line) => log.info(line) : undefined);
  const { phase } = phases;
  const { url, release } = await databaseOf({ clock, config, log, phase }).catch(async (error: unknown) => {
    phases.close();
    await metrics?.close();
    await tracing?.close();
    throw error;
  });
  const embedded = config.database.url === undefined;
  const patience = { connectTimeoutMs: embedded ? embeddedConnectTimeoutMs : undefined };
  const onWait = throttleLog(log, 'the database server is full: waiting for a connection', clock);
  const queueOptions = {
    preparePool: (pool: pg.Pool) => leaveRoom(pool, clock, onWait),
    redisUrl: config.queue.redisUrl,
    databaseUrl: url,
    namespace: config.queue.namespace,
    ...patience,
  };
  const database = openDatabase({
    url,
    applicationName: `tidemark ${options.command}`,
    maxConnections: config.database.connections,
    statementTimeoutMs: config.database.statementTimeoutMs,
    ...patience,
    wait: { clock, onWait },
    onIdleError: (cause) => log.warn({ cause }, 'a database connection was lost'),
  });
  metrics?.measurePool('work', database.pool);
  let isMigrating = false;
  const onSignal = () => {
    if (isMigrating)
      console.error('tidemark: stopped while the database was migrated: nothing was changed, run the command again');
    void close().finally(() => process.exit(exitCodes.interrupted));
  };
  async function close(): Promise<void> {
    for (const name of stopSignals) process.off(name, onSignal);
    await metrics?.close();
    await tracing?.close();
    phase('closing the database');
    await database.close();
    await release();
    phases.close();
  }
  if (options.handlesSignals !== true) for (const name of stopSignals) process.once(name, onSignal);
  try {
    if (embedded) {
      phase('migrating the database');
      isMigrating = true;
      await migrate({ url, direction: 'up', ifBusy: 'wait', storage: config.storage, ...patience });
      isMigrating = false;
      await (await queueBackend()).migrateQueueBackend(queueOptions, 'up');
    }
    database.pool.once('connect', () => phase('checking the schema of the database'));
    await assertMigrated(database.pool);
    phase(null);
  } catch (error) {
    await close();
    throw explainDatabaseError(error);
  }
  const sources = sourcesOf(config, options, log);
  const parts = { clock, config, log, database, embedded, metrics, tracing, phase, sources };
  return {
    ...parts,
    runWorker: async (queues, source) => (await import('./pipeline.ts')).runWorker(parts, queues, { source }),
    runScheduler: async (queues, only) => (await import('./pipeline.ts')).runScheduler(parts, queues, only),
    async openQueues(databaseUrl = url) {
      const before = phase(
        `connecting to the queue on ${config.queue.redisUrl === undefined ? 'PostgreSQL' : 'Redis'}`,
      );
      const queues = await (await queueBackend()).openQueueBackend({
        ...queueOptions,
        databaseUrl,
        clock,
        attempts: config.worker.attempts,
        log,
        carry: tracing?.carry,
      });
      phase(before);
      return queues;
    },
    assertFreeSpace: () => {
      if (embedded) assertFreeSpace(config.directory);
    },
    close,
  };
}

/** @throws TidemarkError BAD_WATCH_LIST, unless the command shows what is stored. */
async function withWatchList<Value>(
  config: Config,
  { showsStored }: ContextOptions,
  log: Logger,
  read: (config: Config) => Promise<Value>,
): Promise<Value> {
  try {
    return await read(config);
  } catch (error) {
    if (showsStored !== true || !(error instanceof TidemarkError) || error.code !== 'BAD_WATCH_LIST') throw error;
    log.warn(`the sources of the watch list are left out: ${error.message}`);
    return read({ ...config, watchList: undefined });
  }
}

/** Reads them once; again when the file has changed, if the process runs until it is stopped. */
function sourcesOf(config: Config, options: ContextOptions, log: Logger): OperationContext['sources'] {
  const { watchList: file } = config;
  const read = () => withWatchList(config, options, log, readSources);
  let known: { readonly file: FileText | null; readonly sources: ReturnType<typeof readSources> } | null = null;
  return async () => {
    if (known !== null && options.isMeasured !== true) return known.sources;
    const found = file === undefined ? null : await readWatchListFile(file);
    if (known === null) known = { file: found, sources: read() };
    else if (!isDeepStrictEqual(found, known.file)) {
      const before = known.sources;
      // Those of before stay while the file is wrong, which the scheduler says.
      known = { file: found, sources: read().catch(() => before) };
    }
    return known.sources;
  };
}

const readSources = async (config: Config) => (await import('./sources.ts')).readRegistry(config);

/** The configuration with what the watch list says of the default source. @throws TidemarkError BAD_WATCH_LIST */
async function withRanges(config: Config): Promise<Config> {
  const { watchList } = config;
  if (watchList === undefined || !(await namesRanges(watchList))) return config;
  const { readDefaultRanges } = await import('../watch-list/source-entries.ts');
  return { ...config, source: { ...config.source, rangeLimits: await readDefaultRanges(watchList) } };
}

/**
 * Opens a context, runs `work` and closes the context. With `handlesSignals` the first Ctrl-C or SIGTERM aborts
 * `signal`; otherwise it closes the context and ends the process.
 */
export async function withContext<Result>(
  options: ContextOptions,
  work: (context: Context, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = options.handlesSignals === true ? onStop({ clock: systemClock }) : null;
  try {
    const context = await openContext(options);
    context.phase('waiting for the database');
    try {
      const signal = stop?.signal ?? new AbortController().signal;
      return await work({ ...context, signal }, signal);
    } finally {
      await context.close();
    }
  } finally {
    stop?.release();
  }
}

/** The database URL. `release` lets the embedded server stop. The phase of connecting stays. */
export async function databaseOf({
  clock,
  config,
  log,
  phase,
}: {
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Logger;
  readonly phase: ShowPhase;
}): Promise<{ url: string; release(): Promise<void> }> {
  const { url } = config.database;
  if (url !== undefined) {
    const host = URL.canParse(url) ? ` at ${new URL(url).host}` : '';
    phase(`connecting to the database${host} until ${formatTime(clock.now() + connectTimeoutMs)}`);
    return { url, release: async () => {} };
  }
  phase(
    `${hasDatabase(config.directory) ? 'starting' : 'creating'} the embedded database in ${resolve(config.directory)}`,
  );
  return acquireEmbeddedDatabase({ clock, directory: config.directory, log: (line) => log.info(line) });
}
