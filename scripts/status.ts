/** `tidemark status`: what is tracked, covered and missing, and how the budget and the queue stand. */

import { type Command, Option } from 'commander';
import { hourMs, minuteMs } from '../contract/intervals.ts';
import { seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { lengthMs } from '../planning/cadence.ts';
import { fetchesSince, standingNotice } from '../store/ledger.ts';
import { ratesEveryMs } from '../store/snapshots/lists.ts';
import { listStatus } from '../store/snapshots/status.ts';
import {
  type RatesStatus,
  ratesStatus,
  type SeriesStatus,
  seriesStatus,
  serverVersions,
} from '../store/status.ts';
import { listsTable } from './lists-table.ts';
import { retentionsOf, retentionText } from './retention.ts';
import { openSession, type Session } from './session.ts';
import { type Column, table, terminalWidth } from './table.ts';
import { watch } from './watch.ts';
import { budgetText, count, counted, duration, moment, percent } from './wording.ts';

export function statusCommand(program: Command): void {
  program
    .command('status')
    .description('show what is tracked, covered and missing, the budget, and the queue')
    .option('--json', 'one JSON document, times as ISO 8601, lengths in seconds')
    .addOption(
      new Option(
        '--check [part]',
        'print nothing and exit 0 if database and queue answer, and the part is at work',
      ).choices(['worker', 'scheduler']),
    )
    .option('--watch', 'show it live until Ctrl-C or q; where nothing can be drawn a line at news')
    .option('--every <length>', 'with --watch: time between two looks, 1s to 1h (default: 2s)')
    .action(run);
}

interface StatusOptions {
  readonly json?: true;
  readonly check?: true | 'worker' | 'scheduler';
  readonly watch?: true;
  readonly every?: string;
}

async function run(options: StatusOptions): Promise<void> {
  if (options.watch) {
    if (options.check !== undefined)
      throw new TidemarkError('BAD_ARGUMENT', '--watch and --check exclude each other');
    await watch({ json: options.json === true, everyMs: everyOf(options.every) });
    return;
  }
  if (options.every !== undefined) throw new TidemarkError('BAD_ARGUMENT', '--every goes with --watch');
  const session = await openSession({ command: 'status', defaultLogLevel: 'warn' });
  try {
    if (options.check !== undefined) {
      await check(session, options.check);
      return;
    }
    const status = await gather(session, Date.now());
    console.log(options.json ? JSON.stringify(asJson(status), null, 2) : asText(status));
  } finally {
    await session.close();
  }
}

const longestEveryMs = hourMs;

/** @throws TidemarkError BAD_ARGUMENT */
function everyOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const ms = lengthMs(text.trim());
  if (ms !== null && ms >= 1000 && ms <= longestEveryMs) return ms;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `--every ${JSON.stringify(text)} is no length from 1s to 1h, such as 2s or 5m`,
  );
}

/** @throws TidemarkError unless database and queue answer, and the part asked for is connected to its queue. */
async function check(session: Session, part: true | 'worker' | 'scheduler'): Promise<void> {
  const queues = await session.openQueues();
  try {
    await queues.requests.depth();
    if (part === true) return;
    const present = await queues[part === 'worker' ? 'requests' : 'planning'].workersPresent();
    if (present === 0) throw new TidemarkError('NOT_RUNNING', `no ${part} is connected to the queue`);
  } finally {
    await queues.close();
  }
}

type Status = Awaited<ReturnType<typeof gather>>;

async function gather(session: Session, nowMs: number) {
  const { config, database } = session;
  const queues = await session.openQueues();
  try {
    const [series, lists, rates, ratesMs, retentions, requests, notice, versions, depth, pausedMs, workers] =
      await Promise.all([
        seriesStatus(database, { nowMs, graceMs: config.worker.graceMs }),
        listStatus(database, nowMs),
        ratesStatus(database),
        ratesEveryMs(database, config.scheduler.ratesMs),
        retentionsOf(session, nowMs),
        fetchesSince(database, nowMs - minuteMs),
        standingNotice(database, nowMs),
        serverVersions(database),
        queues.requests.depth(),
        queues.requests.pausedForMs(),
        queues.requests.workersPresent(),
      ]);
    return {
      nowMs,
      series,
      lists,
      rates: { ...rates, everyMs: ratesMs },
      retentions,
      versions,
      embedded: session.embedded,
      source: config.source.url ?? null,
      notice,
      budget: {
        perMinute: config.source.requestsPerMinute,
        lastMinute: Object.values(requests).reduce((sum, lane) => sum + lane, 0),
        ...requests,
      },
      queue: { backend: queues.kind, ...depth, workers, pausedMs },
    };
  } finally {
    await queues.close();
  }
}

const columns = (nowMs: number): ReadonlyArray<Column<SeriesStatus>> => [
  { title: 'id', value: (row) => String(row.seriesId), right: true },
  // The interval stands at its end.
  { title: 'series', value: (row) => seriesName(row.series), shorten: 'middle' },
  { title: 'tracked from', value: (row) => moment(row.tracked.startMs) },
  { title: 'to', value: (row) => (row.tracked.endMs === null ? 'now' : moment(row.tracked.endMs)) },
  { title: 'covered', value: (row) => percent(row.coveredMs, row.wantedMs), right: true },
  { title: 'missing', value: (row) => (row.missingMs === 0 ? '-' : duration(row.missingMs)), right: true },
  { title: 'gaps', value: (row) => count(row.gaps), right: true },
  { title: 'points', value: (row) => count(row.points), right: true },
  { title: 'newest', value: (row) => (row.newestMs === null ? '-' : moment(row.newestMs)) },
  {
    title: 'age',
    value: (row) => (row.newestMs === null ? '-' : duration(nowMs - row.newestMs)),
    right: true,
  },
  { title: 'note', value: note, shorten: 'end' },
];

/** The table of series, which `demo` shows too. @param width characters a line may have; null: any number. */
export function seriesTable(
  series: readonly SeriesStatus[],
  nowMs: number,
  width: number | null = null,
): string {
  return series.length === 0
    ? 'no series is tracked: see `tidemark track --help`'
    : table(columns(nowMs), series, width);
}

export function ratesLine(rates: RatesStatus, nowMs: number): string {
  if (rates.newestMs === null) return 'rates: none polled yet';
  return `rates: ${count(rates.currencies)} currencies, newest ${moment(rates.newestMs)}, ${duration(nowMs - rates.newestMs)} old`;
}

function note(row: SeriesStatus): string {
  if (row.blocked !== null) return `refused by the source: ${row.blocked}`;
  const parts = [
    row.failedMs > 0 ? `${duration(row.failedMs)} failed` : '',
    row.awaitingMs > 0 ? `${duration(row.awaitingMs)} empty so far` : '',
    row.confirmedEmptyMs > row.beforeBeginningMs
      ? `${duration(row.confirmedEmptyMs - row.beforeBeginningMs)} confirmed empty`
      : '',
    row.beforeBeginningMs > 0 ? `${duration(row.beforeBeginningMs)} before it begins` : '',
    row.revised > 0 ? `${count(row.revised)} revised` : '',
    row.quarantined > 0 ? `${counted(row.quarantined, 'row')} in quarantine` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

const laneNames = ['refresh', 'poll', 'backfill', 'probe', 'reread', 'repair', 'verify'] as const;

function asText(status: Status): string {
  const { versions, queue, budget } = status;
  const store = versions.timescale === null ? 'plain tables' : `TimescaleDB ${versions.timescale}`;
  const lanes = laneNames.filter((lane) => budget[lane] > 0).map((lane) => `${count(budget[lane])} ${lane}`);
  const paused = queue.pausedMs > 1000 ? `, paused for ${duration(queue.pausedMs)}` : '';
  return [
    `database: PostgreSQL ${versions.postgres}, ${store}${status.embedded ? ', embedded' : ''}`,
    `source: ${status.source ?? 'not set (SOURCE_URL)'}`,
    ...(status.notice === null
      ? []
      : [`the source says in place of data, ${moment(status.notice.timeMs)}: ${status.notice.message}`]),
    `budget: ${budgetText(budget)}${lanes.length > 1 ? ` (${lanes.join(', ')})` : ''}`,
    `queue (${queue.backend}): ${queue.waiting} waiting, ${queue.active} active, ${queue.delayed} delayed; workers: ${queue.workers}${paused}`,
    `${ratesLine(status.rates, status.nowMs)}, ${status.rates.everyMs === 0 ? 'not polled' : `polled every ${duration(status.rates.everyMs)}`}`,
    ...(status.retentions.length === 0 ? [] : [`kept: ${status.retentions.map(retentionText).join(', ')}`]),
    '',
    ...(status.lists.length === 0 ? [] : [listsTable(status.lists, status.nowMs, terminalWidth()), '']),
    seriesTable(status.series, status.nowMs, terminalWidth()),
  ].join('\n');
}

function asJson(status: Status) {
  const iso = (timeMs: number | null) => (timeMs === null ? null : new Date(timeMs).toISOString());
  return {
    time: iso(status.nowMs),
    database: { ...status.versions, embedded: status.embedded },
    source: status.source,
    notice:
      status.notice === null ? null : { time: iso(status.notice.timeMs), message: status.notice.message },
    budget: status.budget,
    queue: status.queue,
    rates: {
      currencies: status.rates.currencies,
      newest: iso(status.rates.newestMs),
      everySeconds: status.rates.everyMs / 1000,
    },
    lists: status.lists.map((row) => ({
      list: row.list.dataset,
      asset: row.list.asset,
      everySeconds: row.everyMs / 1000,
      newest: iso(row.newestMs),
      newestAgeSeconds: row.newestMs === null ? null : (status.nowMs - row.newestMs) / 1000,
      rows: row.rows,
      changed: row.changed,
      gone: row.gone,
      pagesUnderWay: row.pages,
      problem: row.problem,
      retryAt: iso(row.retryMs),
      quarantined: row.quarantined,
    })),
    retention: status.retentions.map(({ dataset, age, cutMs }) => ({
      dataset,
      age,
      nothingBefore: iso(cutMs),
    })),
    series: status.series.map((row) => ({
      id: row.seriesId,
      ...row.series,
      tracked: { from: iso(row.tracked.startMs), to: iso(row.tracked.endMs) },
      wantedSeconds: row.wantedMs / 1000,
      coveredSeconds: row.coveredMs / 1000,
      missingSeconds: row.missingMs / 1000,
      awaitingSeconds: row.awaitingMs / 1000,
      failedSeconds: row.failedMs / 1000,
      confirmedEmptySeconds: row.confirmedEmptyMs / 1000,
      beforeBeginningSeconds: row.beforeBeginningMs / 1000,
      quarantined: row.quarantined,
      gaps: row.gaps,
      points: row.points,
      earliest: iso(row.earliestMs),
      newest: iso(row.newestMs),
      revised: row.revised,
      rereadAt: iso(row.rereadAtMs),
      newestAgeSeconds: row.newestMs === null ? null : (status.nowMs - row.newestMs) / 1000,
      blocked: row.blocked,
    })),
  };
}
