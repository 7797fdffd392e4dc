/** `tidemark migrate [up|down]` */

import { systemClock } from '../../clock.ts';
import { badArgument, TidemarkError } from '../../errors.ts';
import type { ShowPhase } from '../../planning/progress.ts';
import { migrateQueueBackend } from '../../queue/backend.ts';
import { schemaOf } from '../../queue/postgres.ts';
import { configFromEnvironment, databaseOf } from '../../runtime/context.ts';
import { refuseWhileInUse } from '../../runtime/in-use.ts';
import { onStop } from '../../runtime/lifecycle.ts';
import { openPhases } from '../../runtime/phases.ts';
import { grantLogin, type LoginKind, type LoginRole, loginRoles, renewLogins } from '../../schema/login-roles.ts';
import { migrate } from '../../schema/migrate.ts';
import type { Config } from '../../settings/config.ts';
import { openLog } from '../../settings/log.ts';
import { type Database, embeddedConnectTimeoutMs, openDatabase } from '../../store/db/database.ts';
import { serverVersions } from '../../store/status/status.ts';
import { refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import { passwordIn } from '../input/password-file.ts';

export interface MigrateOptions {
  readonly yes?: true;
  readonly workerPasswordFile?: string;
  readonly servicePasswordFile?: string;
  readonly viewerPasswordFile?: string;
}

export async function run(direction: string, options: MigrateOptions): Promise<void> {
  if (direction !== 'up' && direction !== 'down') {
    throw badArgument(`the direction is up or down, not ${JSON.stringify(direction)}`);
  }
  if (direction === 'down' && options.yes !== true) {
    throw badArgument('`migrate down` drops everything that is stored', 'add --yes to confirm');
  }
  const logins = loginsOf(options);
  if (direction === 'down' && logins.length > 0) throw badArgument('`migrate down` creates no role');
  const phases = openPhases(systemClock);
  try {
    await runMigration(direction, logins, phases.phase);
  } finally {
    phases.close();
  }
}

function loginsOf(options: MigrateOptions): LoginRole[] {
  const kinds = Object.keys(loginRoles) as LoginKind[];
  return kinds.flatMap((kind) => {
    const file = options[`${kind}PasswordFile`];
    if (file === undefined) return [];
    return [{ role: loginRoles[kind], kind, password: passwordIn(`--${kind}-password-file`, file) }];
  });
}

async function runMigration(direction: 'up' | 'down', logins: readonly LoginRole[], phase: ShowPhase): Promise<void> {
  const config = configFromEnvironment();
  const log = await openLog(config.logLevel ?? 'warn');
  const { url, release } = await databaseOf({ clock: systemClock, config, log, phase });
  const connectTimeoutMs = config.database.url === undefined ? embeddedConnectTimeoutMs : undefined;
  // From the connection on: before it a signal ends the process.
  let stop: ReturnType<typeof onStop> | undefined;
  const stopped = new AbortController();
  const { signal } = stopped;
  try {
    if (direction === 'down')
      await onDatabase(url, (database) => refuseWhileInUse(database, { clock: systemClock, config, log }));
    const adapted: string[] = [];
    const done = await migrate({
      url,
      direction,
      ifBusy: 'refuse',
      storage: config.storage,
      connectTimeoutMs,
      signal,
      onConnected: () => {
        stop = onStop({ clock: systemClock });
        stop.signal.addEventListener('abort', () => stopped.abort());
        phase(direction === 'up' ? 'migrating the database' : 'reverting the migrations');
      },
      onAdapted: (change) => adapted.push(change),
    }).catch((error: unknown) => {
      throw signal.aborted ? interrupted('the migration was rolled back: the database is as it was', error) : error;
    });
    await migrateQueueBackend(
      { redisUrl: config.queue.redisUrl, databaseUrl: url, namespace: config.queue.namespace, connectTimeoutMs },
      direction,
    );
    for (const name of done) console.log(`${direction === 'up' ? 'applied' : 'reverted'} ${name}`);
    for (const change of adapted) console.log(change);
    if (direction === 'up') await onDatabase(url, (database) => grantLogins(database, logins, config.queue), 600_000);
    if (direction === 'up') await onDatabase(url, (database) => rollUp(database, phase, signal), 600_000);
    const summary = await onDatabase(url, summaryOf);
    console.log(`${done.length + adapted.length === 0 ? 'nothing to do' : 'done'}: ${summary}`);
  } finally {
    stop?.release();
    phase('closing the database');
    await release();
  }
}

async function grantLogins(
  database: Database,
  logins: readonly LoginRole[],
  { redisUrl, namespace }: Config['queue'],
): Promise<void> {
  const queueSchema = redisUrl === undefined ? schemaOf(namespace) : null;
  await renewLogins(database, queueSchema);
  for (const login of logins) {
    const isNew = await grantLogin(database, login, queueSchema);
    console.log(`${isNew ? 'created' : 'updated'} role ${login.role}`);
  }
}

function interrupted(what: string, cause?: unknown): TidemarkError {
  const remedy = 'run the same command again';
  return new TidemarkError('INTERRUPTED', `stopped; ${what}`, { cause, remedy });
}

async function onDatabase<Result>(
  url: string,
  work: (database: Database) => Promise<Result>,
  statementTimeoutMs = 10_000,
): Promise<Result> {
  const database = openDatabase({ url, applicationName: 'tidemark migrate', maxConnections: 1, statementTimeoutMs });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Rolls up what a version without these rollups has stored. After a kill the next run does the rest. */
async function rollUp(database: Database, phase: ShowPhase, signal: AbortSignal): Promise<void> {
  const isWhole = await refreshRollups(database, {
    clock: systemClock,
    nowMs: systemClock.now(),
    signal,
    onSeries: (done, of) => phase('rolling up hours and days', `${done} of ${of} series done`),
  });
  if (!isWhole) throw interrupted('the schema is migrated, and days are left to roll up');
}

async function summaryOf(database: Database): Promise<string> {
  const { postgres, timescale } = await serverVersions.one(database.pool, {});
  const storage =
    timescale === null
      ? 'without TimescaleDB: points are stored in plain tables'
      : `with TimescaleDB ${timescale}: points are stored in hypertables`;
  return `PostgreSQL ${postgres} ${storage}`;
}
