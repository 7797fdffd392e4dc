/**
 * The state of the whole, whoever made it so: what is missing, how old the newest is, what is queued. It is the same for
 * every process, so one kind of process exports it: the scheduler, or `run`.
 */

import { Counter, Gauge, type Registry } from 'prom-client';
import type { EpochMs } from '../contract/intervals.ts';
import type { Depth } from '../queue/requests.ts';
import type { PollMeasures } from '../store/measures/polls.ts';
import type { RequestMeasures } from '../store/measures/requests.ts';
import type { GapMeasures, IntervalMeasures } from '../store/measures/series.ts';
import { datasets, gapReasons, lanes } from './names.ts';
import { readingAtMostEvery } from './reading.ts';

/** What the store says. */
export interface StoreState {
  readonly intervals: readonly IntervalMeasures[];
  readonly gaps: readonly GapMeasures[];
  readonly polls: readonly PollMeasures[];
  readonly requests: RequestMeasures;
  readonly quarantine: ReadonlyArray<{ readonly dataset: string; readonly rows: number }>;
  readonly databaseBytes: number;
  /** Of the file system that holds the embedded database; null: the database is elsewhere. */
  readonly disk: { readonly freeBytes: number; readonly sizeBytes: number } | null;
}

/** What the queue says. */
export interface QueueState {
  readonly depth: Depth;
  /** Windows and pages, queued or under way. */
  readonly load: Readonly<Record<string, number>>;
  readonly workers: number;
}

export interface StateSources {
  readonly store: () => Promise<StoreState>;
  readonly queue: () => Promise<QueueState>;
  /** 0: the source has no limit. */
  readonly requestsPerMinute: number;
  readonly now: () => EpochMs;
}

/** However many ask: the store is read four times a minute at most. */
const times = Object.freeze({ everyMs: 15_000, patienceMs: 5000, oldestMs: 60_000 });

/** @returns what brings the gauges up to date; to be called before they are read. */
export function stateMetrics(registry: Registry, sources: StateSources): () => Promise<void> {
  const gauges = gaugesOf(registry);
  const failures = new Counter({
    name: 'tidemark_state_read_failures_total',
    help: 'Readings of the state of database and queue that failed; what they would have told is left out meanwhile',
    labelNames: ['of'],
    registers: [registry],
  });
  const reading = (of: string) => {
    failures.inc({ of }, 0);
    return { now: sources.now, onError: () => failures.inc({ of }) };
  };
  const store = readingAtMostEvery(sources.store, times, reading('database'));
  const queue = readingAtMostEvery(sources.queue, times, reading('queue'));

  return async () => {
    const [fromStore, fromQueue] = await Promise.all([store(), queue()]);
    for (const gauge of Object.values(gauges)) gauge.reset();
    gauges.budgetLimit.set(sources.requestsPerMinute);
    if (fromStore !== null) setStore(gauges, fromStore.value);
    if (fromQueue !== null) setQueue(gauges, fromQueue.value);
    // A gauge without labels is born, and reset, with the value 0.
    if (fromStore === null) for (const name of ofStoreAlone) gauges[name].remove();
    if (fromQueue === null) gauges.queueWorkers.remove();
  };
}

const ofStoreAlone = ['sourceSuccess', 'sourceFailures', 'databaseBytes', 'diskFree', 'diskSize'] as const;

function gaugesOf(registry: Registry) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `tidemark_${name}`, help, labelNames, registers: [registry] });
  const each = ['dataset', 'interval'];
  return {
    budgetLimit: gauge(
      'budget_limit_requests_per_minute',
      'Requests a minute that the source allows; 0: any number',
    ),
    budgetUsed: gauge(
      'budget_used_requests_per_minute',
      'Requests of the last 60 seconds, of all workers together, by what they were for',
      ['lane'],
    ),
    series: gauge('series', 'Tracked series', each),
    blocked: gauge('blocked_series', 'Tracked series that the source refuses as a whole for now', each),
    tracked: gauge(
      'tracked_seconds',
      'Length of what is tracked, up to the last closed period, of all series',
      each,
    ),
    gapSeconds: gauge('gap_seconds', 'Length of what is missing, of all series', [...each, 'reason']),
    gaps: gauge('gaps', 'Ranges that are missing', [...each, 'reason']),
    lag: gauge(
      'lag_seconds',
      'Of the series that is furthest behind: from the end of what is covered to its last closed period',
      each,
    ),
    newestAge: gauge(
      'newest_age_seconds',
      'Age of what is newest, of the series or list where it is oldest; lists have no interval',
      each,
    ),
    pollInterval: gauge('poll_interval_seconds', 'How often a list is polled', ['dataset']),
    points: gauge('stored_points', 'Points that are stored', each),
    revised: gauge(
      'stored_revisions',
      'Values of closed periods that the source changed, as far as seen',
      each,
    ),
    quarantine: gauge('quarantined_rows', 'Rows of answers that could not be used, and are kept', [
      'dataset',
    ]),
    queueRequests: gauge('queue_requests', 'Requests that are queued or under way, by what they are for', [
      'lane',
    ]),
    queueJobs: gauge('queue_jobs', 'Jobs in the queue, by state', ['state']),
    queueWorkers: gauge('queue_workers', 'Workers that are connected to the queue'),
    sourceSuccess: gauge(
      'source_last_success_timestamp_seconds',
      'When a request was last answered with what it asked for, of all workers; 0: none was',
    ),
    sourceFailures: gauge(
      'source_failures_since_success',
      'Requests since then that failed for reasons that are not about what was asked for',
    ),
    databaseBytes: gauge('database_size_bytes', 'Size of the database on disk'),
    diskFree: gauge(
      'disk_free_bytes',
      'Free on the file system of the embedded database; absent without one',
    ),
    diskSize: gauge(
      'disk_size_bytes',
      'Size of the file system of the embedded database; absent without one',
    ),
  };
}

function setStore(gauges: ReturnType<typeof gaugesOf>, state: StoreState): void {
  const { lastMinute, successAtMs, failuresSince } = state.requests;
  for (const lane of lanes) gauges.budgetUsed.set({ lane }, lastMinute[lane as keyof typeof lastMinute] ?? 0);
  gauges.sourceSuccess.set((successAtMs ?? 0) / 1000);
  gauges.sourceFailures.set(failuresSince);
  for (const { dataset, interval, ...measured } of state.intervals) {
    const each = { dataset, interval };
    gauges.series.set(each, measured.series);
    gauges.blocked.set(each, measured.blocked);
    gauges.tracked.set(each, measured.trackedSeconds);
    gauges.points.set(each, measured.points);
    gauges.revised.set(each, measured.revised);
    if (measured.lagSeconds !== null) gauges.lag.set(each, measured.lagSeconds);
    if (measured.newestAgeSeconds !== null) gauges.newestAge.set(each, measured.newestAgeSeconds);
    for (const reason of gapReasons) {
      gauges.gapSeconds.set({ ...each, reason }, 0);
      gauges.gaps.set({ ...each, reason }, 0);
    }
  }
  for (const { dataset, interval, reason, gaps, seconds } of state.gaps) {
    gauges.gapSeconds.set({ dataset, interval, reason }, seconds);
    gauges.gaps.set({ dataset, interval, reason }, gaps);
  }
  for (const { dataset, everySeconds, newestAgeSeconds } of state.polls) {
    gauges.pollInterval.set({ dataset }, everySeconds);
    if (newestAgeSeconds !== null) gauges.newestAge.set({ dataset, interval: '' }, newestAgeSeconds);
  }
  for (const dataset of datasets) gauges.quarantine.set({ dataset }, 0);
  for (const { dataset, rows } of state.quarantine) gauges.quarantine.set({ dataset }, rows);
  gauges.databaseBytes.set(state.databaseBytes);
  if (state.disk === null) {
    gauges.diskFree.remove();
    gauges.diskSize.remove();
  } else {
    gauges.diskFree.set(state.disk.freeBytes);
    gauges.diskSize.set(state.disk.sizeBytes);
  }
}

function setQueue(gauges: ReturnType<typeof gaugesOf>, { depth, load, workers }: QueueState): void {
  for (const [lane, requests] of Object.entries(load)) gauges.queueRequests.set({ lane }, requests);
  for (const [state, jobs] of Object.entries(depth)) gauges.queueJobs.set({ state }, jobs);
  gauges.queueWorkers.set(workers);
}
