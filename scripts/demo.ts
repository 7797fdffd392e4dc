/** `tidemark demo [--once]`: the whole pipeline on synthetic data, with nothing to install or configure. */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Config } from '../config.ts';
import { requestsPerMinute } from '../contract/limits.ts';
import type { PolledList } from '../contract/lists.ts';
import type { SeriesKey } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { type RunningSimulator, startSimulator } from '../simulator/start.ts';
import { listGaps } from '../store/gaps.ts';
import { notRefreshedSince, trackSeries } from '../store/series.ts';
import { trackList } from '../store/snapshots/lists.ts';
import { listStatus } from '../store/snapshots/status.ts';
import { ratesStatus, seriesStatus } from '../store/status.ts';
import { Closing } from './closing.ts';
import { demoQueries, runQuery } from './demo-queries.ts';
import { fillGaps } from './fill-gaps.ts';
import { listsTable } from './lists-table.ts';
import { parseMoment } from './moment.ts';
import { runScheduler, runWorker } from './pipeline.ts';
import { showProgress } from './progress.ts';
import { runService } from './serving.ts';
import { configFromEnvironment, openSession, type Session } from './session.ts';
import { ratesLine, seriesTable } from './status.ts';
import { onStop, stopped } from './stop.ts';
import { counted, duration } from './wording.ts';

const label = '[synthetic]';
/** The simulator takes any key. One raises its limit, as at a real source. */
const demoKey = 'synthetic-demo-key';

const market = (baseId: string, interval: 'm1' | 'h1'): SeriesKey => ({
  dataset: 'candles',
  exchange: 'binance',
  baseId,
  quoteId: 'tether',
  interval,
});

/** Often enough that the refreshing is seen. */
const demoRefreshMs = 10_000;

/** About 150 requests: a third of a minute's budget with a key. */
const watchList: ReadonlyArray<{ series: SeriesKey; from: string }> = [
  { series: market('bitcoin', 'm1'), from: '60d' },
  { series: market('bitcoin', 'h1'), from: '1y' },
  { series: market('ethereum', 'm1'), from: '60d' },
  { series: market('ethereum', 'h1'), from: '1y' },
  { series: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' }, from: '11y' },
];

const polledLists: readonly PolledList[] = [
  { dataset: 'assets', asset: null },
  { dataset: 'exchanges', asset: null },
  { dataset: 'markets', asset: null },
  { dataset: 'asset_markets', asset: 'bitcoin' },
];

export function demoCommand(program: Command): void {
  program
    .command('demo')
    .description('try it: embedded database, synthetic source, backfill, refresh, SQL')
    .option('--once', 'stop after the report instead of refreshing until Ctrl-C')
    .action(run);
}

async function run(options: { once?: true }): Promise<void> {
  const stop = onStop({ whenUnread: true });
  const environment = configFromEnvironment();
  console.log('Tidemark demo. All data shown here is synthetic, made by a simulator on this machine.');
  const simulator = await startSimulator({});
  try {
    const session = await openSession({
      command: 'demo',
      defaultLogLevel: 'error',
      handlesSignals: true,
      isMeasured: true,
      config: demoConfig(environment, simulator),
    });
    try {
      await show(session, simulator, options.once === true, stop.signal);
    } finally {
      await session.close();
    }
  } finally {
    await simulator.close();
    stop.release();
  }
}

/** The user's configuration, but for what would mix synthetic data with real: source, database and queue. */
function demoConfig(config: Config, simulator: RunningSimulator): Config {
  return {
    ...config,
    source: {
      ...config.source,
      url: simulator.url,
      apiKey: demoKey,
      requestsPerMinute: requestsPerMinute.withKey,
    },
    database: { ...config.database, url: undefined },
    queue: { ...config.queue, redisUrl: undefined },
    scheduler: { ...config.scheduler, refreshMs: demoRefreshMs, ratesMs: demoRefreshMs },
    // It is about the real source.
    watchList: undefined,
    directory: join(config.directory, 'demo'),
  };
}

async function show(
  session: Session,
  simulator: RunningSimulator,
  once: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { database } = session;
  const startedMs = Date.now();
  console.log(
    `PostgreSQL runs under ${session.config.directory}, the simulator at ${simulator.url} with a budget of ${requestsPerMinute.withKey} requests a minute.`,
  );
  const stored = await seriesStatus(database, { nowMs: startedMs, graceMs: session.config.worker.graceMs });
  const points = stored.reduce((sum, row) => sum + row.points, 0);
  if (points > 0)
    console.log(
      `${label} ${counted(points, 'point')} are stored from before: only what is missing is asked for.`,
    );
  const seriesIds: number[] = [];
  for (const { series, from } of watchList) {
    const tracked = await trackSeries(database, series, parseMoment(from, '--from', startedMs), null);
    seriesIds.push(tracked.seriesId);
  }
  for (const list of polledLists) await trackList(database, list, demoRefreshMs);
  const outcome = await fillGaps(session, {
    seriesIds,
    fromMs: 0,
    toMs: null,
    signal,
    progress: showProgress({ quiet: false, synthetic: true }),
  });
  if (outcome.interrupted) throw interrupted();
  console.log(
    `${label} backfill ${outcome.requests === 0 ? 'had nothing to do' : 'complete'}: ${counted(outcome.requests, 'request')}, ${counted(outcome.points, 'new point')}, ${duration(outcome.durationMs)}`,
  );

  const closing = new Closing();
  try {
    const queues = await session.openQueues();
    closing.add(() => queues.close());
    const worker = await runWorker(session, queues);
    closing.add(() => worker.close());
    const scheduler = await runScheduler(session, queues);
    closing.add(() => scheduler.close());
    if (!(await refreshedOnce(session, startedMs, signal))) throw interrupted();
    await report(session, simulator, startedMs);
    if (once) return;
    const service = await runService(session, { host: '127.0.0.1', port: 0 }, { queues, synthetic: true });
    closing.add(() => service.close());
    console.log('\nRefreshing and serving until Ctrl-C.');
    if (service.dashboard !== null)
      console.log(`The dashboard is at ${service.dashboard}. In another terminal:`);
    console.log(`  curl '${service.url}/candles?exchange=binance&baseId=bitcoin&quoteId=tether&interval=h1'`);
    if (session.metrics !== null) console.log(`  curl ${session.metrics.url}`);
    console.log(`  DATABASE_URL= REDIS_URL= TIDEMARK_DIR=${session.config.directory} npx tidemark status`);
    await stopped(signal);
  } finally {
    await closing.run(session.log);
  }
}

const interrupted = () => new TidemarkError('INTERRUPTED', 'stopped; what was fetched is stored');

/**
 * Waits until rates and lists were polled and every series was read up to its newest data, also what closed meanwhile.
 *
 * @returns false when interrupted.
 */
async function refreshedOnce(session: Session, sinceMs: number, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    if (signal.aborted) return false;
    const [rates, lists, unread, gaps] = await Promise.all([
      ratesStatus(session.database),
      listStatus(session.database, Date.now()),
      notRefreshedSince(session.database, sinceMs),
      listGaps(session.database, { nowMs: Date.now(), graceMs: session.config.worker.graceMs }),
    ]);
    const isWhole = unread.length === 0 && gaps.every((gap) => gap.reason !== 'not_asked');
    const polled = [rates, ...lists].every(({ newestMs }) => newestMs !== null && newestMs >= sinceMs);
    if (isWhole && polled) return true;
    await delay(200, undefined, { signal }).catch(() => {});
  }
}

async function report(session: Session, simulator: RunningSimulator, startedMs: number): Promise<void> {
  const { database, config } = session;
  const nowMs = Date.now();
  const [rows, rates, lists] = await Promise.all([
    seriesStatus(database, { nowMs, graceMs: config.worker.graceMs }),
    ratesStatus(database),
    listStatus(database, nowMs),
  ]);
  const asked = simulator.requests();
  console.log(`\nCoverage`);
  print(seriesTable(rows, nowMs));
  print(ratesLine(rates, nowMs));
  print(listsTable(lists, nowMs));
  print(
    `${counted(asked.total, 'request')} in ${duration(nowMs - startedMs)}, at most ${asked.largestRollingMinute} in any minute, ${asked.count429} refused`,
  );
  for (const query of demoQueries) {
    console.log(`\n${query.title}\n\n${query.sql}\n`);
    print(await runQuery(database, query.sql));
  }
}

/** Every line that shows synthetic data says so. */
function print(text: string): void {
  console.log(text.replace(/^/gm, `${label} `));
}
