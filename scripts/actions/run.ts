/** `tidemark run`, `scheduler` and `worker`: the long-running processes, until SIGTERM or Ctrl-C. */

import { systemClock } from '../../clock.ts';
import { hasDatabase } from '../../embedded/home.ts';
import { defaultSource } from '../../model/sources.ts';
import { Disposer } from '../../operations/disposer.ts';
import { keepMarkets } from '../../operations/sources/markets.ts';
import { openActivityLog } from '../../runtime/activity-log.ts';
import { type Context, configFromEnvironment, openContext } from '../../runtime/context.ts';
import { onStop, StoppedAtStart, startSteps } from '../../runtime/lifecycle.ts';
import { runScheduler, runWorkers } from '../../runtime/pipeline.ts';
import { assertPortFree, runService } from '../../runtime/service.ts';
import { areSourcesWanted, assertDefaultSource } from '../../runtime/sources.ts';
import { tellTargets } from '../../runtime/telling.ts';
import { openLog } from '../../settings/log.ts';
import { missingInternals } from '../../store/timescale/internals.ts';
import { keepLake } from '../../transfer/lake/keep-lake.ts';

interface ProcessRoles {
  readonly scheduler: boolean;
  readonly worker: boolean;
  readonly service?: boolean;
  /** Of the service; absent: the configured one. */
  readonly port?: number | undefined;
  readonly concurrency?: number | undefined;
}

/** Runs the roles until SIGTERM or Ctrl-C. @param command its name in the log. @throws TidemarkError DATABASE_FULL. */
export async function run(command: string, roles: ProcessRoles): Promise<void> {
  const stop = onStop({ clock: systemClock });
  const config = configFromEnvironment();
  const log = await openLog(config.logLevel ?? 'info');
  const closing = new Disposer(systemClock);
  const start = startSteps(closing, stop.signal, { clock: systemClock, log });
  try {
    // Before an embedded database is created. Series of other sources need no SOURCE_URL.
    const isNew = config.database.url === undefined && !hasDatabase(config.directory);
    if (roles.worker && isNew && !(await areSourcesWanted(config))) await assertDefaultSource(config);
    const address = { ...config.service, port: roles.port ?? config.service.port };
    if (roles.service) await assertPortFree(address);
    const context = await start('the database', () =>
      openContext({ command, defaultLogLevel: 'info', config, handlesSignals: true, isMeasured: true }),
    );
    const missing = await missingInternals(context.database.pool);
    if (missing !== null) log.warn(`${missing}: points are stored, and not moved to the columnstore; upgrade Tidemark`);
    const queues = await start('the queue', () => context.openQueues());
    const { facts, url } = (await context.sources()).get(defaultSource);
    const activity = openActivityLog(log, context.clock);
    closing.add(() => activity.close());
    const logged = { ...context, activity };
    if (roles.worker) {
      await start('the worker', () => runWorkers(logged, queues, roles.concurrency));
      const markets = keepMarkets({ ...context, signal: stop.signal });
      closing.add(() => markets.close());
    }
    if (roles.scheduler) await start('the scheduler', () => runScheduler(logged, queues));
    if (roles.scheduler && config.watchList !== undefined) {
      const { clock, database } = context;
      const lake = keepLake({ clock, database, file: config.watchList, log });
      closing.add(() => lake.close());
      const told = tellTargets(context, queues, config.watchList);
      closing.add(() => told.close());
    }
    const service = roles.service
      ? await start('the service', () => runService(context, address, { queues }))
      : undefined;
    context.log.info(
      {
        source: url ?? undefined,
        // A process without a key uses the workers' budget, which is unknown yet.
        ...(facts.isBudgetStated || roles.worker ? { requestsPerMinute: facts.requestsPerMinute } : {}),
        queue: queues.kind,
        database: context.embedded ? 'embedded' : 'configured',
        ...(service === undefined ? {} : { serving: service.url }),
        ...(service?.dashboard == null ? {} : { dashboard: service.dashboard }),
      },
      `${command} started`,
    );
    context.metrics?.reach('ready');
    // Not in the log, which redacts tokens.
    if (service?.actions != null) console.log(service.actions);
    await untilStopped(stop.signal, context);
    context.metrics?.reach('stopping');
    log.info(`${command} is stopping`);
    await service?.drain();
  } catch (error) {
    if (!(error instanceof StoppedAtStart)) throw error;
  } finally {
    await closing.run(log);
    stop.release();
  }
  log.info(`${command} stopped`);
}

const lookEveryMs = 1000;

/** @throws TidemarkError DATABASE_FULL. */
async function untilStopped(signal: AbortSignal, context: Context): Promise<void> {
  while (!signal.aborted) {
    context.assertFreeSpace();
    await context.clock.sleep(lookEveryMs, signal);
  }
}
