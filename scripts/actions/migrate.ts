/** `tidemark migrate [up|down]` */

import type { Logger } from 'pino';
import { systemClock } from '../../clock.ts';
import { badArgument, TidemarkError } from '../../errors.ts';
import type { ShowPhase } from '../../planning/progress.ts';
import { migrateQueueBackend } from '../../queue/backend.ts';
import { configFromEnvironment, databaseOf } from '../../runtime/context.ts';
import { refuseWhileInUse } from '../../runtime/in-use.ts';
import { onStop } from '../../runtime/lifecycle.ts';
import { openPhases } from '../../runtime/phases.ts';
import { migrate } from '../../schema/migrate.ts';
import type { Config } from '../../settings/config.ts';
import { openLog } from '../../settings/log.ts';
import { embeddedConnectTimeoutMs, openDatabase } from '../../store/db/database.ts';
import { serverVersions } from '../../store/status/status.ts';
import { refreshRollups } from '../../store/upkeep/refresh-rollups.ts';

export async function run(direction: string, options: { yes?: true }): Promise<void> {
  if (direction !== 'up' && direction !== 'down') {
    throw badArgument(`the direction is up or down, not ${JSON.stringify(direction)}`);
  }
  if (direction === 'down' && options.yes !== true) {
    throw badArgument('`migrate down` drops everything that is stored', 'add --yes to confirm');
  }
  const phases = openPhases(systemClock);
  try {
    await runMigration(direction, phases.phase);
  } finally {
    phases.close();
  }
}

async function runMigration(direction: 'up' | 'down', phase: ShowPhase): Promise<void> {
  const config = configFromEnvironment();
  const log = await openLog(config.logLevel ?? 'warn');
  const { url, release } = await databaseOf({ clock: systemClock, config, log, phase });
  const connectTimeoutMs = config.database.url === undefined ? embeddedConnectTimeoutMs : undefined;
  // From the connection on: before it a signal ends the process.
  let stop: ReturnType<typeof onStop> | undefined;
  const stopped = new AbortController();
  const { signal } = stopped;
  try {
    if (direction === 'down') await refuseWhileUsed(url, config, log);
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
    if (direction === 'up' && !(await rollUp(url, phase, signal)))
      throw interrupted('the schema is migrated, and days are left to roll up');
    console.log(await summary(url, done.length + adapted.length));
  } finally {
    stop?.release();
    phase('closing the database');
    await release();
  }
}

function interrupted(what: string, cause?: unknown): TidemarkError {
  const remedy = 'run the same command again';
  return new TidemarkError('INTERRUPTED', `stopped; ${what}`, { cause, remedy });
}

const openOwn = (url: string, statementTimeoutMs = 10_000) =>
  openDatabase({ url, applicationName: 'tidemark migrate', maxConnections: 1, statementTimeoutMs });

/**
 * Rolls up what a version without these rollups has stored. After a kill the next run does the rest.
 *
 * @returns false when the signal stopped it.
 */
async function rollUp(url: string, phase: ShowPhase, signal: AbortSignal): Promise<boolean> {
  const database = openOwn(url, 600_000);
  try {
    return await refreshRollups(database, {
      clock: systemClock,
      nowMs: systemClock.now(),
      signal,
      onSeries: (done, of) => phase('rolling up hours and days', `${done} of ${of} series done`),
    });
  } finally {
    await database.close();
  }
}

/** @throws TidemarkError DATABASE_IN_USE */
async function refuseWhileUsed(url: string, config: Config, log: Logger): Promise<void> {
  const database = openOwn(url);
  try {
    await refuseWhileInUse(database, { clock: systemClock, config, log });
  } finally {
    await database.close();
  }
}

async function summary(url: string, changes: number): Promise<string> {
  const database = openOwn(url);
  try {
    const { postgres, timescale } = await serverVersions(database);
    const storage =
      timescale === null
        ? 'without TimescaleDB: points are stored in plain tables'
        : `with TimescaleDB ${timescale}: points are stored in hypertables`;
    return `${changes === 0 ? 'nothing to do' : 'done'}: PostgreSQL ${postgres} ${storage}`;
  } finally {
    await database.close();
  }
}
