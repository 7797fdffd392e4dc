/**
 * Metrics of the installation's state: gaps, lag, queue, database. The state is the same for every process, so only the
 * scheduler or `run` exports it.
 */

import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { laneNames } from '../model/lanes.ts';
import { shownReasons } from '../model/reasons.ts';
import { conditionKinds, conditions, type State } from '../planning/conditions.ts';
import type { Depth } from '../queue/requests.ts';
import type { GapMeasures, IntervalMeasures, PollMeasures, RequestMeasures } from '../store/status/measures.ts';
import type { Upkeep } from '../store/upkeep/jobs.ts';
import { datasets, jobKindOf, jobKinds } from './names.ts';
import { readAtMostEvery } from './reading.ts';

/** State read from the store. */
export interface StoreState {
  readonly intervals: readonly IntervalMeasures[];
  readonly gaps: readonly GapMeasures[];
  readonly polls: readonly PollMeasures[];
  readonly requests: RequestMeasures;
  readonly quarantine: ReadonlyArray<{ readonly dataset: string; readonly rows: number }>;
  readonly upkeep: Upkeep;
  readonly databaseBytes: number;
  /** File system of the embedded database; null for an external database. */
  readonly disk: { readonly freeBytes: number; readonly sizeBytes: number } | null;
}

/** State read from the queue. */
export interface QueueState {
  readonly depth: Depth;
  /** Queued and active windows and pages. */
  readonly load: Readonly<Record<string, number>>;
  readonly workers: number;
  /** The effective budget of all sources in use; 0: unlimited. */
  readonly requestsPerMinute: number;
}

export interface StateSources {
  readonly store: () => Promise<StoreState>;
  readonly queue: () => Promise<QueueState>;
  /** What `status` and the page say of the whole, also where the database or the queue does not answer. */
  readonly whole: () => Promise<State>;
  readonly clock: Clock;
}

/** The store is read at most four times a minute, however often the metrics are scraped. */
const times = Object.freeze({ everyMs: 15_000, waitMs: 5000, oldestMs: 60_000 });

/** @returns updates the gauges; call it before reading them. */
export function stateMetrics(registry: Registry, sources: StateSources): () => Promise<void> {
  const gauges = gaugesOf(registry);
  const failures = new Counter({
    name: 'tidemark_state_read_failures_total',
    help: 'Failed readings of the state of database or queue; metrics of a failed reading are absent',
    labelNames: ['of'],
    registers: [registry],
  });
  const reading = (of: string) => {
    failures.inc({ of }, 0);
    return { clock: sources.clock, onError: () => failures.inc({ of }) };
  };
  const store = readAtMostEvery(sources.store, times, reading('database'));
  const queue = readAtMostEvery(sources.queue, times, reading('queue'));
  const whole = readAtMostEvery(sources.whole, times, reading('whole'));

  return async () => {
    const [fromStore, fromQueue, state] = await Promise.all([store(), queue(), whole()]);
    for (const gauge of Object.values(gauges)) {
      gauge.reset();
      // A gauge without labels is reset to 0. It is absent until it is set.
      gauge.remove({});
    }
    if (fromStore !== null) setStore(gauges, fromStore.value);
    // What it was before it went away would look like workers that are connected.
    if (fromQueue !== null && !isQueueAway(state?.value)) setQueue(gauges, fromQueue.value);
    if (state !== null) setWhole(gauges, state.value);
  };
}

function isQueueAway(state: State | undefined): boolean {
  return state !== undefined && [state.headline, ...state.also].some(({ kind }) => kind === 'queue_away');
}

function gaugesOf(registry: Registry) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `tidemark_${name}`, help, labelNames, registers: [registry] });
  const each = ['dataset', 'interval'];
  return {
    condition: gauge('condition', 'Conditions of the whole, as `tidemark status` says them; 1: it holds', [
      'kind',
      'level',
    ]),
    requestsLeft: gauge('requests_left', 'Requests for missing data that can be sent now; absent without database'),
    eta: gauge('eta_seconds', 'Time until they are sent; absent while it is unknown'),
    wanted: gauge('wanted_seconds', 'Length of all that is tracked, as `tidemark status` counts it'),
    covered: gauge('covered_seconds', 'The part of it that is covered'),
    budgetLimit: gauge('budget_limit_requests_per_minute', 'Requests a minute that the source allows; 0: unlimited'),
    budgetUsed: gauge('budget_used_requests_per_minute', 'Requests of all workers in the last 60 seconds, by lane', [
      'lane',
    ]),
    series: gauge('series', 'Tracked series', each),
    blocked: gauge('blocked_series', 'Tracked series that the source currently refuses', each),
    tracked: gauge('tracked_seconds', 'Tracked length of all series up to the last closed period', each),
    gapSeconds: gauge('gap_seconds', 'Length of the missing ranges of all series', [...each, 'reason']),
    gaps: gauge('gaps', 'Missing ranges', [...each, 'reason']),
    lag: gauge(
      'lag_seconds',
      'Largest distance of a series from the end of its coverage to its last closed period',
      each,
    ),
    newestAge: gauge(
      'newest_age_seconds',
      'Age of the newest point or row of the stalest series or list; lists have no interval',
      each,
    ),
    pollInterval: gauge('poll_interval_seconds', 'Interval between polls of a list', ['dataset']),
    points: gauge('stored_points', 'Stored points', each),
    revised: gauge('stored_revisions', 'Revised values of closed periods', each),
    quarantine: gauge('quarantined_rows', 'Rejected rows in quarantine', ['dataset']),
    queueRequests: gauge('queue_requests', 'Queued and active requests by lane', ['lane']),
    queueJobs: gauge('queue_jobs', 'Jobs in the queue, by state', ['state']),
    queueWorkers: gauge('queue_workers', 'Workers connected to the queue'),
    sourceSuccess: gauge(
      'source_last_success_timestamp_seconds',
      'Time of the last successful request of all workers; 0: none',
    ),
    sourceFailures: gauge(
      'source_failures_since_success',
      'Requests since the last success that failed for reasons unrelated to their parameters',
    ),
    failingJobs: gauge(
      'database_jobs_failing',
      'TimescaleDB background jobs whose last run failed or that are overdue',
      ['kind'],
    ),
    rollupsBehind: gauge('rollups_behind', 'Series whose rollups await a refresh'),
    chunksDue: gauge('columnstore_chunks_due', 'Chunks that are due for the columnstore'),
    lockWaits: gauge('lock_waits', "Tidemark's statements that wait for a lock"),
    databaseBytes: gauge('database_size_bytes', 'Size of the database on disk'),
    diskFree: gauge('disk_free_bytes', 'Free space on the file system of the embedded database; absent without one'),
    diskSize: gauge('disk_size_bytes', 'Size of the file system of the embedded database; absent without one'),
  };
}

function setStore(gauges: ReturnType<typeof gaugesOf>, state: StoreState): void {
  const { lastMinute, successAtMs, failuresSince } = state.requests;
  for (const lane of laneNames) gauges.budgetUsed.set({ lane }, lastMinute[lane]);
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
    for (const reason of shownReasons) {
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
  for (const kind of jobKinds) gauges.failingJobs.set({ kind }, 0);
  for (const { kind } of state.upkeep.failingJobs) gauges.failingJobs.inc({ kind: jobKindOf(kind) });
  gauges.rollupsBehind.set(state.upkeep.rollupsBehind);
  gauges.chunksDue.set(state.upkeep.chunksDue);
  gauges.lockWaits.set(state.upkeep.locks.statements);
  gauges.databaseBytes.set(state.databaseBytes);
  if (state.disk === null) return;
  gauges.diskFree.set(state.disk.freeBytes);
  gauges.diskSize.set(state.disk.sizeBytes);
}

function setQueue(gauges: ReturnType<typeof gaugesOf>, { depth, load, workers, ...state }: QueueState): void {
  gauges.budgetLimit.set(state.requestsPerMinute);
  for (const [lane, requests] of Object.entries(load)) gauges.queueRequests.set({ lane }, requests);
  for (const [state, jobs] of Object.entries(depth)) gauges.queueJobs.set({ state }, jobs);
  gauges.queueWorkers.set(workers);
}

function setWhole(
  gauges: ReturnType<typeof gaugesOf>,
  { headline, also, left, etaMs, wantedMs, coveredMs }: State,
): void {
  for (const kind of conditionKinds) gauges.condition.set({ kind, level: conditions[kind].level }, 0);
  for (const { kind, level } of [headline, ...also]) gauges.condition.set({ kind, level }, 1);
  if (headline.kind === 'database_away') return;
  gauges.requestsLeft.set(left);
  gauges.wanted.set(wantedMs / 1000);
  gauges.covered.set(coveredMs / 1000);
  if (etaMs !== null) gauges.eta.set(etaMs / 1000);
}
