/** A worker: takes jobs from the `requests` queue within the budget, and runs them. */

import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { EpochMs } from '../contract/intervals.ts';
import { limiterFor } from '../planning/budget.ts';
import { isProbe } from '../planning/windows.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { RequestJob } from '../queue/jobs.ts';
import { type Attempt, done, type Outcome } from '../queue/outcome.ts';
import type { Source } from '../source/source.ts';
import type { Database } from '../store/database.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { prepareWindow } from '../store/prepared.ts';
import { verifyWindow } from '../store/verification.ts';
import { assetHistoryWork } from './asset-history.ts';
import type { AttemptParts } from './attempt-parts.ts';
import { candlesWork } from './candles.ts';
import { groupCommits } from './commit-groups.ts';
import { noticePauses, watchOutage } from './outage.ts';
import { pageWork } from './page.ts';
import { probeWork } from './probe.ts';
import { rangeTrials } from './range-trials.ts';
import { ratesWork } from './rates.ts';
import { runAttempt } from './run-attempt.ts';
import { type AroundAttempt, laneOf, type WorkerTold } from './told.ts';
import type { WorkParts } from './work.ts';

export interface WorkerOptions {
  readonly database: Database;
  readonly source: Source;
  readonly queues: QueueBackend;
  /** The budget that all workers share; 0: the source has no limit. */
  readonly requestsPerMinute: number;
  readonly settings: Config['worker'];
  readonly log: Logger;
  /** Each attempt runs within it. */
  readonly around?: AroundAttempt | undefined;
  /** Hears of the work as it happens. */
  readonly told?: WorkerTold | undefined;
  readonly now?: () => EpochMs;
  readonly random?: () => number;
  /** How long a job stays locked by a worker that was killed, and the time between two looks for such jobs. */
  readonly lockMs?: number;
}

export interface RunningWorker {
  /**
   * Takes no more jobs and lets those under way end. What is not done after `graceMs` goes back to the queue.
   */
  close(graceMs?: number): Promise<void>;
}

/** Below the ten seconds that `docker stop` waits before it kills. */
const defaultGraceMs = 8000;
/** Failures in a row of any windows before the source is taken to be away. */
const outageThreshold = 5;
/** Transactions under way at most, which keep as much of a database busy as a worker can. What waits goes in groups. */
const mostTransactions = 3;
/** Connections that commits leave to the planner and to `status`. */
const keptConnections = 2;

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { database, queues, settings, log } = options;
  const connections = database.pool.options.max;
  const commitSlot = pLimit(Math.max(1, Math.min(mostTransactions, connections - keptConnections)));
  const parts: AttemptParts & WorkParts = {
    database,
    source: options.source,
    requests: queues.requests,
    commitSlot,
    commitWindow: groupCommits(database, commitSlot),
    sourceWatch: watchOutage({ what: 'the source', threshold: outageThreshold, log }),
    noticeWatch: watchOutage({
      what: 'the source',
      threshold: 1,
      log,
      pauses: noticePauses,
      said: {
        begins: 'the source answers with a notice in place of data; all work pauses, for longer each time',
        ends: 'the source answers with data again',
      },
    }),
    storeWatch: watchOutage({ what: 'the database', threshold: 1, log }),
    unknownSeries: new Set(),
    heldOff: { untilMs: 0 },
    rangeTrials: rangeTrials({ restMs: settings.failedRetryMs }),
    failedRetryMs: settings.failedRetryMs,
    graceMs: settings.graceMs,
    emptyConfirmMs: settings.emptyConfirmMs,
    log,
    told: options.told,
    now: options.now ?? Date.now,
    random: options.random ?? Math.random,
  };
  for (const [key, longestMs] of await longestRanges(database)) parts.rangeTrials.learn(key, longestMs);
  const around = options.around ?? ((_attempt, run) => run());
  const worker = queues.startRequestWorker((attempt) => around(attempt, () => run(attempt, parts)), {
    concurrency: settings.concurrency,
    limiter: limiterFor(options.requestsPerMinute),
    ...(options.lockMs === undefined ? {} : { lockMs: options.lockMs }),
  });
  await worker.ready();
  return Object.freeze({ close: (graceMs = defaultGraceMs) => worker.close(graceMs) });
}

/** One processor a dataset. */
async function run(attempt: Attempt<RequestJob>, parts: AttemptParts & WorkParts): Promise<Outcome> {
  const { job, waitedMs } = attempt;
  if (waitedMs !== null) parts.told?.taken({ lane: laneOf(job), waitedMs });
  if (job.name === 'rates') return runAttempt(ratesWork(parts), attempt, parts);
  if (job.name === 'page') return runAttempt(pageWork(job.data, parts), attempt, parts);
  const whole = job.data;
  const { series, lane } = whole;
  const window = parts.rangeTrials.shortened(whole);
  if (isProbe(whole)) return runAttempt({ ...probeWork(window, parts), whole }, attempt, parts);
  // What verifies only compares: where a window is stored otherwise, it is looked at.
  const ways = lane === 'verify' ? { ...parts, commitWindow: compareWith(parts) } : parts;
  switch (series.dataset) {
    case 'candles':
      return runAttempt({ ...candlesWork(window, series, ways), whole }, attempt, parts);
    case 'asset_history':
      return runAttempt({ ...assetHistoryWork(window, series, ways), whole }, attempt, parts);
    default:
      // Queued by a newer version. What it was for is still a gap there.
      parts.log.warn({ job: attempt.id }, 'a job of an unknown dataset was left alone');
      return done;
  }
}

function compareWith({ database, commitSlot }: WorkParts): WorkParts['commitWindow'] {
  return (commit) => {
    const window = prepareWindow(commit);
    return commitSlot(() => verifyWindow(database, window));
  };
}
