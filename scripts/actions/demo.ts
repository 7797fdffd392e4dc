/** `tidemark demo [--once]`: the whole pipeline on synthetic data, with nothing to install or configure. */

import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stopped, systemClock } from '../../clock.ts';
import { makeDirectory } from '../../directories.ts';
import { TidemarkError } from '../../errors.ts';
import { counted, formatDuration, shellCommand } from '../../model/format.ts';
import { type EpochMs, hourMs, periodStart } from '../../model/intervals.ts';
import type { PolledList } from '../../model/lists/index.ts';
import type { CandleSeries, SeriesKey } from '../../model/series.ts';
import { runBackfill } from '../../operations/backfill/backfill.ts';
import { askedOf, type Recorded, recorded } from '../../operations/backfill/record.ts';
import { Disposer } from '../../operations/disposer.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { type Context, configFromEnvironment, withContext } from '../../runtime/context.ts';
import { onStop } from '../../runtime/lifecycle.ts';
import { runScheduler, runWorkers } from '../../runtime/pipeline.ts';
import { type RunningService, runService } from '../../runtime/service.ts';
import type { Config } from '../../settings/config.ts';
import { secretVariables } from '../../settings/environment.ts';
import { type RunningSimulator, startSimulator } from '../../simulator/start.ts';
import { startVenueSimulator } from '../../simulator/venues/start.ts';
import type { BackfilledSeries } from '../../store/ledger/backfills.ts';
import { listStatus, trackList } from '../../store/lists/lists.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { findUnrefreshed } from '../../store/series/series.ts';
import { trackSeriesOf } from '../../store/series/sources.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { requestsPerMinute } from '../../v2/limits.ts';
import { userAtHost } from '../input/asked-by.ts';
import { parseTime } from '../input/parse-options.ts';
import { showProgress } from '../output/backfill-progress.ts';
import { demoQueries, runQuery } from '../output/demo-queries.ts';
import { listsTable, seriesTable } from '../output/status-tables.ts';
import { printText, terminalWidth } from '../output/table.ts';

const label = '[synthetic]';
/** The simulator accepts any key. A key raises the limit, as at a real source. */
const demoKey = 'synthetic-demo-key';

const market = (baseId: string, interval: 'm1' | 'h1'): CandleSeries => ({
  dataset: 'candles',
  exchange: 'binance',
  baseId,
  quoteId: 'tether',
  interval,
});
const perpetual = { exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether:tether', interval: 'h1' } as const;
/** Of the perpetual, at a simulated exchange. */
const venueSources = ['binance-usdm', 'binance-usdm-funding'] as const;

/** Short, so that refreshes are visible. */
const demoRefreshMs = 10_000;

/** About 170 requests: a third of a minute's budget with a key. */
const watchList: ReadonlyArray<{ series: SeriesKey; from: string; source?: (typeof venueSources)[number] }> = [
  { series: market('bitcoin', 'm1'), from: '60d' },
  { series: market('bitcoin', 'h1'), from: '1y' },
  { series: market('ethereum', 'm1'), from: '60d' },
  { series: market('ethereum', 'h1'), from: '1y' },
  { series: { ...market('bitcoin', 'h1'), exchange: 'kraken', quoteId: 'euro' }, from: '1y' },
  { series: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' }, from: '11y' },
  { series: { dataset: 'candles', ...perpetual }, from: '90d', source: 'binance-usdm' },
  { series: { dataset: 'funding_rates', ...perpetual }, from: '90d', source: 'binance-usdm-funding' },
];

const polledLists: readonly PolledList[] = [
  { dataset: 'assets', asset: null },
  { dataset: 'exchanges', asset: null },
  { dataset: 'markets', asset: null },
  { dataset: 'rates', asset: null },
  { dataset: 'asset_markets', asset: 'bitcoin' },
];

export async function run(options: { once?: true }): Promise<void> {
  const stop = onStop({ clock: systemClock, whenUnread: true });
  const environment = configFromEnvironment();
  printText('Tidemark demo. All data shown here is synthetic, made by a simulator on this machine.');
  const simulator = await startSimulator({});
  const venue = await startVenueSimulator({ profile: 'binance-usdm' });
  try {
    const config = demoConfig(environment, simulator);
    writeSources(config, venue.url);
    await withContext({ command: 'demo', handlesSignals: true, isMeasured: true, config }, (context) =>
      show(context, simulator, options.once === true, stop.signal),
    );
  } finally {
    await venue.close();
    await simulator.close();
    stop.release();
  }
}

/**
 * The user's configuration with another source, database and queue, so that synthetic data never mixes with real data.
 */
function demoConfig(config: Config, simulator: RunningSimulator): Config {
  const directory = resolve(config.directory, 'demo');
  return {
    ...config,
    source: { ...config.source, url: simulator.url, apiKey: demoKey, requestsPerMinute: requestsPerMinute.withKey },
    database: { ...config.database, url: undefined },
    queue: { ...config.queue, redisUrl: undefined },
    scheduler: { ...config.scheduler, refreshMs: demoRefreshMs },
    // The user's own belongs to real sources.
    watchList: join(directory, 'tidemark.yaml'),
    directory,
  };
}

function writeSources({ directory }: Config, url: string): void {
  makeDirectory(directory);
  const lines = venueSources.map((name) => `  ${name}: { url: '${url}' }\n`);
  writeFileSync(
    join(directory, 'tidemark.yaml'),
    `# Of \`tidemark demo\`, at each start.\nsources:\n${lines.join('')}`,
  );
}

/**
 * Writes a command line of this demo, for any folder: the configuration of the user is of other sources.
 *
 * @returns its path, for a shell.
 */
function writeCommandLine({ directory, watchList = '', source, scheduler }: Config): string {
  const path = join(directory, 'tidemark');
  const variables = {
    ...{ DATABASE_URL: '', REDIS_URL: '', TIDEMARK_DIR: directory, WATCH_LIST: watchList },
    ...{ SOURCE_URL: source.url ?? '', SOURCE_API_KEY: source.apiKey ?? '' },
    ...Object.fromEntries(secretVariables.map((name) => [`${name}_FILE`, ''])),
    SOURCE_REQUESTS_PER_MINUTE: String(source.requestsPerMinute),
    REFRESH_SECONDS: String(scheduler.refreshMs / 1000),
  };
  const set = Object.entries(variables).map(([name, value]) => `export ${name}=${shellCommand(value)}\n`);
  const command = shellCommand(process.execPath, process.argv[1] ?? '');
  const text = `#!/bin/sh\n# Of \`tidemark demo\`, at each start.\n${set.join('')}exec ${command} "$@"\n`;
  writeFileSync(path, text, { mode: 0o755 });
  return shellCommand(path);
}

async function show(context: Context, simulator: RunningSimulator, once: boolean, signal: AbortSignal): Promise<void> {
  const closing = new Disposer(context.clock);
  try {
    const queues = await context.openQueues();
    closing.add(() => queues.close());
    let service: RunningService | null = null;
    if (!once) {
      // From the beginning, so that the backfill can be watched. Another port than a service of the user's own.
      const port = process.env.SERVE_PORT === undefined ? 0 : context.config.service.port;
      const served = await runService(context, { host: '127.0.0.1', port }, { queues, synthetic: true });
      closing.add(() => served.close());
      if (served.dashboard !== null) printText(`The dashboard is at ${served.dashboard}.`);
      if (served.actions !== null) printText(served.actions);
      service = served;
    }
    await fetchAndReport(context, simulator, queues, { closing, signal });
    if (service === null) return;
    context.phase(null);
    console.log('\nRefreshing and serving until Ctrl-C.');
    if (service.dashboard !== null) console.log(`The dashboard is at ${service.dashboard}. In another terminal:`);
    console.log(`  curl '${service.url}/candles?exchange=binance&baseId=bitcoin&quoteId=tether&interval=h1'`);
    if (context.metrics !== null) console.log(`  curl ${context.metrics.url}`);
    console.log(`  ${writeCommandLine(context.config)} status`);
    console.log('Your own data come from an exchange, without a key:');
    console.log('  npx tidemark backfill candles --source binance --symbol BTC/USDT --interval h1 --from 2017-08-17');
    await stopped(signal);
  } finally {
    await closing.run(context.log);
  }
}

/** Backfills, starts a worker and a scheduler that `closing` ends, and reports once everything is fresh. */
async function fetchAndReport(
  context: Context,
  simulator: RunningSimulator,
  queues: QueueBackend,
  { closing, signal }: { closing: Disposer; signal: AbortSignal },
): Promise<void> {
  const { database } = context;
  const startedMs = context.clock.now();
  printText(
    `PostgreSQL runs under ${context.config.directory}, the simulator at ${simulator.url} with a budget of ` +
      `${requestsPerMinute.withKey} requests a minute.`,
  );
  const { graceMs } = context.config.worker;
  const stored = await seriesStatus(database, { nowMs: startedMs, graceMs });
  const points = stored.reduce((sum, row) => sum + row.points, 0);
  if (points > 0)
    console.log(`${label} ${counted(points, 'point')} are already stored; only missing windows are fetched.`);
  const asked: BackfilledSeries[] = [];
  for (const { series, from, source } of watchList) {
    const fromMs = parseTime(from, '--from', startedMs);
    const sources = source === undefined ? null : [{ source, symbol: 'BTCUSDT', isArchive: false }];
    const tracked = await trackSeriesOf(database, sources, series, fromMs, null);
    asked.push(askedOf(tracked, { fromMs, toMs: null }, { nowMs: startedMs, graceMs }));
  }
  for (const list of polledLists) await trackList(database, list, demoRefreshMs);
  const backfill = async (record: Recorded) => {
    const outcome = await runBackfill(context, {
      series: asked,
      ...{ signal: record.signal, look: record.look },
      progress: showProgress(context.clock, '[synthetic] '),
    });
    if (outcome.interrupted) throw interrupted();
    if (outcome.refusal !== null) throw outcome.refusal;
    return (
      `${outcome.requests === 0 ? 'had nothing to do' : 'complete'}: ${counted(outcome.requests, 'request')}, ` +
      `${counted(outcome.points, 'new point')}, ${formatDuration(outcome.durationMs)}`
    );
  };
  const record = { kind: 'backfill', by: userAtHost(), series: asked, signal } as const;
  console.log(`${label} backfill ${await recorded(context, record, backfill, (said) => said)}`);

  reviseLastHour(simulator, startedMs);
  const workers = await runWorkers(context, queues);
  closing.add(() => workers.close());
  const scheduler = await runScheduler(context, queues);
  closing.add(() => scheduler.close());
  context.phase('refreshing every series, and polling lists');
  if (!(await refreshedOnce(context, startedMs, signal))) throw interrupted();
  await report(context, simulator, startedMs);
}

/** The refresh reads the last closed hour again, and keeps what was stored as a revision. */
function reviseLastHour(simulator: RunningSimulator, nowMs: EpochMs): void {
  const series = market('bitcoin', 'h1');
  const timeMs = periodStart(nowMs, 'h1') - hourMs;
  const [hour] = simulator.truth.candles(series, { startMs: timeMs, endMs: timeMs + hourMs });
  if (hour !== undefined) simulator.revise({ series, timeMs, values: { close: hour.high }, fromMs: nowMs });
}

const interrupted = () => new TidemarkError('INTERRUPTED', 'stopped; fetched windows are stored');

/**
 * Waits until lists are polled and every series is refreshed up to its newest closed period.
 *
 * @returns false when interrupted.
 */
async function refreshedOnce(context: Context, sinceMs: number, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    if (signal.aborted) return false;
    const [lists, unread, gaps] = await Promise.all([
      listStatus(context.database, context.clock.now()),
      findUnrefreshed(context.database, sinceMs),
      listGaps(context.database, { nowMs: context.clock.now(), graceMs: context.config.worker.graceMs }),
    ]);
    const isWhole = unread.length === 0 && gaps.every((gap) => gap.reason !== 'not_asked');
    const polled = lists.every(({ newestMs }) => newestMs !== null && newestMs >= sinceMs);
    if (isWhole && polled) return true;
    await context.clock.sleep(200, signal);
  }
}

async function report(context: Context, simulator: RunningSimulator, startedMs: number): Promise<void> {
  const { database, config } = context;
  const nowMs = context.clock.now();
  const [rows, lists] = await Promise.all([
    seriesStatus(database, { nowMs, graceMs: config.worker.graceMs }),
    listStatus(database, nowMs),
  ]);
  const asked = simulator.requests();
  const columns = terminalWidth();
  const width = columns === null ? null : columns - label.length - 1;
  console.log(`\nCoverage`);
  print(seriesTable(rows, nowMs, width));
  print(listsTable(lists, nowMs, width));
  print(
    `${counted(asked.total, 'request')} in ${formatDuration(nowMs - startedMs)}, at most ` +
      `${asked.largestRollingMinute} in any minute, ${asked.count429} refused`,
  );
  for (const query of demoQueries) {
    printText(`\n${query.title}\n\n${query.sql}\n`);
    print(await runQuery(database, query.sql));
  }
}

/** Labels every line as synthetic. */
function print(text: string): void {
  console.log(text.replace(/^/gm, `${label} `));
}
