/** `tidemark migrate [up|down]` */

import type { Logger } from 'pino';
import { systemClock } from '../../clock.ts';
import type { Config } from '../../config.ts';
import { TidemarkError } from '../../errors.ts';
import { openLog } from '../../log.ts';
import type { ShowPhase } from '../../operations/progress.ts';
import { migrateQueueBackend } from '../../queue/backend.ts';
import { configFromEnvironment, databaseOf } from '../../runtime/context.ts';
import { refuseWhileInUse } from '../../runtime/in-use.ts';
import { openPhases } from '../../runtime/phases.ts';
import { openDatabase } from '../../store/db/database.ts';
import { migrate } from '../../store/db/migrate.ts';
import { refreshRollups } from '../../store/rollups/refresh.ts';
import { serverVersions } from '../../store/series/status.ts';

export async function run(direction: string, options: { yes?: true }): Promise<void> {
  if (direction !== 'up' && direction !== 'down') {
    throw new TidemarkError('BAD_ARGUMENT', `the direction is up or down, not ${JSON.stringify(direction)}`);
  }
  if (direction === 'down' && options.yes !== true) {
    throw new TidemarkError('BAD_ARGUMENT', '`migrate down` drops everything that is stored', {
      remedy: 'add --yes to confirm',
    });
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
  try {
    if (direction === 'down') await refuseWhileUsed(url, config, log);
    const adapted: string[] = [];
    const done = await migrate({
      url,
      direction,
      ifBusy: 'refuse',
      storage: config.storage,
      onConnected: () => phase(direction === 'up' ? 'migrating the database' : 'reverting the migrations'),
      onAdapted: (change) => adapted.push(change),
    });
    await migrateQueueBackend(
      { redisUrl: config.queue.redisUrl, databaseUrl: url, namespace: config.queue.namespace },
      direction,
    );
    for (const name of done) console.log(`${direction === 'up' ? 'applied' : 'reverted'} ${name}`);
    for (const change of adapted) console.log(change);
    if (direction === 'up') await rollUp(url, phase);
    console.log(await summary(url, done.length + adapted.length));
  } finally {
    phase('closing the database');
    await release();
  }
}

const openOwn = (url: string, statementTimeoutMs = 10_000) =>
  openDatabase({ url, applicationName: 'tidemark migrate', maxConnections: 1, statementTimeoutMs });

/** Rolls up what a version without these rollups has stored. After a kill the next run does the rest. */
async function rollUp(url: string, phase: ShowPhase): Promise<void> {
  const database = openOwn(url, 600_000);
  try {
    await refreshRollups(database, {
      clock: systemClock,
      nowMs: systemClock.now(),
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
