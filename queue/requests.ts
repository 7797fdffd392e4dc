/** The queue of everything that costs a request. */

import type { PollPage } from '../planning/polls.ts';
import type { Range } from '../planning/ranges.ts';
import type { Lane, Window } from '../planning/windows.ts';
import { pageJobId, priorities, type RequestJob, windowJobId, windowOfJobId } from './jobs.ts';
import { workersOn } from './presence.ts';
import type { BullQueue } from './queue-store.ts';
import { keepRepeating } from './repeat.ts';

export interface ClaimedWindow extends Range {
  readonly lane: Lane;
  /** Which run of a command asked for it, if one did. */
  readonly run?: string;
}

/** What is queued, waiting for another attempt, or under way. */
export interface Claimed {
  readonly windows: ReadonlyMap<number, readonly ClaimedWindow[]>;
  /** Windows by lane. */
  readonly load: Readonly<Record<Lane, number>>;
  /** Job ids of pages. */
  readonly pages: ReadonlySet<string>;
}

export interface Depth {
  /** Ready to run. */
  readonly waiting: number;
  readonly active: number;
  /** Waiting for another attempt, or for the time of the next poll. */
  readonly delayed: number;
}

export interface RequestQueue {
  /** Adds the windows that are not in the queue yet. */
  addWindows(windows: readonly Window[]): Promise<void>;
  /** Adds the pages that are not in the queue yet. */
  addPages(pages: readonly PollPage[]): Promise<void>;
  claimedWindows(): Promise<Claimed>;
  /** What is queued or under way of each series, by the jobs' ids alone: to be looked at, not to be planned by. */
  queuedRanges(): Promise<ReadonlyMap<number, readonly Range[]>>;
  /** Takes the windows of a series out, save those under way. */
  dropSeries(seriesId: number): Promise<void>;
  /** Takes the windows that a run of a command asked for out, save those under way. */
  dropRun(run: string): Promise<void>;
  depth(): Promise<Depth>;
  /** Starts no job for this long, in any worker anywhere. A longer pause that already holds stays. */
  pauseForMs(ms: number): Promise<void>;
  /** What is left of a pause; the limiter's own spacing counts as one. */
  pausedForMs(): Promise<number>;
  /** Ends a pause before its time. */
  endPause(): Promise<void>;
  /** Polls rates every so often; 0 ends it. Called again with the same time, it mends what is broken. */
  pollRatesEvery(ms: number): Promise<void>;
  /** Workers connected to this queue now. */
  workersPresent(): Promise<number>;
}

/** Listing is bounded: the planner keeps the queue at about a minute of budget, and a test may ask for more. */
const mostListed = 20_000;
/** Of what is only looked at: more than a minute's budget with a key. */
const mostShown = 2000;
/**
 * In the order in which a job moves through them, and once more those to which it comes back: PostgreSQL reads one
 * after the other, and a job that moves meanwhile, for another attempt or because it was put back, must not be missed.
 */
const claimingStates = [
  'delayed',
  'wait',
  'prioritized',
  'active',
  'delayed',
  'wait',
  'prioritized',
] as const;

/**
 * @param attempts how many attempts a job of this queue has.
 * @param workerName what workers of the queue call themselves.
 */
export function requestQueue(
  queue: BullQueue<RequestJob['data'], RequestJob['name']>,
  options: { attempts: number; workerName: string; carry: () => string | undefined },
): RequestQueue {
  const jobOptions = {
    attempts: options.attempts,
    backoff: { type: 'outcome' },
    // The id is held only while the job is kept, and a failure is recorded in the database.
    removeOnComplete: true,
    removeOnFail: true,
    stackTraceLimit: 0,
  };
  /** BullMQ keeps a place for what belongs to a trace. */
  const carrying = () => {
    const metadata = options.carry();
    return metadata === undefined ? {} : { telemetry: { metadata } };
  };
  // A job's id tells its window, and of one that fills a gap not its lane. Most jobs listed here were added here.
  let lanes = new Map<string, Lane>();

  async function laneOf(id: string): Promise<Lane | null> {
    const known = lanes.get(id);
    if (known !== undefined) return known;
    const job = await queue.getJob(id);
    return job !== undefined && 'lane' in job.data ? job.data.lane : null;
  }

  async function drop(isDropped: (window: NonNullable<ReturnType<typeof windowOfJobId>>) => boolean) {
    const ids = await queue.getRanges(['wait', 'prioritized', 'delayed'], 0, mostListed - 1, true);
    const dropped = ids.filter((id) => {
      const window = windowOfJobId(id);
      return window !== null && isDropped(window);
    });
    // One that has started meanwhile is locked, and stays.
    await Promise.all(dropped.map((id) => queue.remove(id)));
  }

  return Object.freeze({
    async addWindows(windows) {
      if (windows.length === 0) return;
      for (const window of windows) lanes.set(windowJobId(window), window.lane);
      const along = carrying();
      await queue.addBulk(
        windows.map((window) => ({
          name: window.series.dataset,
          data: window,
          opts: {
            ...jobOptions,
            ...along,
            jobId: windowJobId(window),
            priority: priorities[window.lane],
          },
        })),
      );
    },

    async addPages(pages) {
      if (pages.length === 0) return;
      const along = carrying();
      await queue.addBulk(
        pages.map((page) => ({
          name: 'page' as const,
          data: page,
          opts: { ...jobOptions, ...along, jobId: pageJobId(page), priority: priorities.page },
        })),
      );
    },

    async claimedWindows() {
      const ids = await queue.getRanges([...claimingStates], 0, mostListed - 1, true);
      const windows = new Map<number, ClaimedWindow[]>();
      const load = { refresh: 0, backfill: 0, probe: 0, reread: 0, repair: 0, verify: 0 };
      const still = new Map<string, Lane>();
      await Promise.all(
        ids.map(async (id) => {
          const window = windowOfJobId(id);
          if (window === null) return;
          const lane = window.lane ?? (await laneOf(id));
          // It ended while the list was read. What it left uncovered is a gap that the planner sees.
          if (lane === null) return;
          still.set(id, lane);
          load[lane] += 1;
          const ranges = windows.get(window.seriesId) ?? [];
          const { startMs, endMs, run } = window;
          ranges.push({ startMs, endMs, lane, ...(run === undefined ? {} : { run }) });
          windows.set(window.seriesId, ranges);
        }),
      );
      lanes = still;
      return { windows, load, pages: new Set(ids.filter((id) => id.startsWith('page_'))) };
    },

    async queuedRanges() {
      const ids = await queue.getRanges(['prioritized', 'active'], 0, mostShown - 1, true);
      const ranges = new Map<number, Range[]>();
      for (const id of new Set(ids)) {
        const window = windowOfJobId(id);
        if (window === null) continue;
        const { seriesId, startMs, endMs } = window;
        ranges.set(seriesId, [...(ranges.get(seriesId) ?? []), { startMs, endMs }]);
      }
      return ranges;
    },

    dropSeries: (seriesId) => drop((window) => window.seriesId === seriesId),

    dropRun: (run) => drop((window) => window.run === run),

    async depth() {
      const counts = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed');
      const count = (state: string) => counts[state] ?? 0;
      return {
        waiting: count('wait') + count('prioritized'),
        active: count('active'),
        delayed: count('delayed'),
      };
    },

    async pauseForMs(ms) {
      const wanted = Math.ceil(ms);
      if (wanted > 0 && (await queue.getRateLimitTtl()) < wanted) await queue.rateLimit(wanted);
    },

    async pausedForMs() {
      return Math.max(0, await queue.getRateLimitTtl());
    },

    async endPause() {
      await queue.removeRateLimitKey();
    },

    pollRatesEvery: (ms) =>
      keepRepeating(queue, {
        name: 'rates',
        data: {},
        everyMs: ms,
        options: { ...jobOptions, priority: priorities.poll },
      }),

    workersPresent: () => workersOn(queue, options.workerName),
  } satisfies RequestQueue);
}
