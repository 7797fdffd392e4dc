/** The queue of requests: every job costs one request at the source. */

import { byLane, lanes, type WindowLane, windowLanes } from '../model/lanes.ts';
import type { Range } from '../model/ranges.ts';
import type { Window } from '../model/window.ts';
import type { PollPage } from '../planning/polls.ts';
import { pageJobId, type QueuedWindow, type RequestJob, windowJobId, windowOfJobId, windowVersion } from './jobs.ts';
import { type BullQueue, countWorkersOn } from './queue-store.ts';

export interface ClaimedWindow extends Range {
  readonly lane: WindowLane;
  /** Id of the command run that requested it. */
  readonly run?: string;
}

export interface QueuedRange extends Range {
  /** Whether its request is under way. */
  readonly isActive: boolean;
}

export interface Depth {
  readonly waiting: number;
  readonly active: number;
  /** Waiting for a retry, or for the next poll. */
  readonly delayed: number;
}

export type RequestQueue = ReturnType<typeof requestQueue>;

/** Far more than the minute of budget that the planner keeps in the queue. */
const maxListed = 20_000;
/** For display: more than a minute of budget with a key. */
const maxShown = 2000;
/**
 * The states in the order in which a job passes them, and again those to which it returns: the PostgreSQL backend reads
 * them one after the other, and must not miss a job that moves meanwhile. `missedIds` finds one that moves twice.
 */
const claimingStates = ['delayed', 'wait', 'prioritized', 'active', 'delayed', 'wait', 'prioritized'] as const;

export function requestQueue(
  queue: BullQueue<RequestJob['data'], RequestJob['name']>,
  options: {
    readonly attempts: number;
    readonly workerName: string;
    readonly carry: () => string | undefined;
    /** Whether the store lists all states of jobs in one step. */
    readonly listsAtOnce: boolean;
  },
) {
  const jobOptions = {
    attempts: options.attempts,
    backoff: { type: 'outcome' },
    // A kept job would block its id. Failures are recorded in the database.
    removeOnComplete: true,
    removeOnFail: true,
    stackTraceLimit: 0,
  };
  async function add<Data extends QueuedWindow | PollPage>(
    jobs: readonly { readonly name: RequestJob['name']; readonly data: Data }[],
    optionsOf: (data: Data) => { readonly jobId: string; readonly priority: number },
  ): Promise<void> {
    if (jobs.length === 0) return;
    const metadata = options.carry();
    const along = metadata === undefined ? jobOptions : { ...jobOptions, telemetry: { metadata } };
    await queue.addBulk(jobs.map((job) => ({ ...job, opts: { ...along, ...optionsOf(job.data) } })));
  }
  // The id of a job that fills a gap does not contain its lane. Most listed jobs were added by this process.
  let known = new Map<string, WindowLane>();

  async function laneOf(id: string): Promise<WindowLane | null> {
    const lane = known.get(id);
    if (lane !== undefined) return lane;
    const job = await queue.getJob(id);
    return job !== undefined && 'lane' in job.data ? job.data.lane : null;
  }

  /**
   * Windows added by this process that are in the queue although the list lacks them: a worker has put them back twice
   * while the states were read.
   */
  async function missedIds(listed: ReadonlySet<string>): Promise<string[]> {
    if (options.listsAtOnce) return [];
    const absent = [...known.keys()].filter((id) => !listed.has(id));
    const jobs = await Promise.all(absent.map((id) => queue.getJob(id)));
    return absent.filter((_, place) => jobs[place] !== undefined);
  }

  async function drop(isDropped: (window: NonNullable<ReturnType<typeof windowOfJobId>>) => boolean) {
    const ids = await queue.getRanges(['wait', 'prioritized', 'delayed'], 0, maxListed - 1, true);
    const dropped = ids.filter((id) => {
      const window = windowOfJobId(id);
      return window !== null && isDropped(window);
    });
    // A job that has started meanwhile is locked, and stays.
    await Promise.all(dropped.map((id) => queue.remove(id)));
  }

  return Object.freeze({
    /** Adds windows. One that is in the queue already is not added again. */
    async addWindows(windows: readonly Window[]) {
      for (const window of windows) known.set(windowJobId(window), window.lane);
      await add(
        windows.map((window) => ({ name: window.series.dataset, data: { v: windowVersion, ...window } })),
        (data) => ({ jobId: windowJobId(data), priority: lanes[data.lane].priority }),
      );
    },

    /** Adds pages, likewise. */
    addPages: (pages: readonly PollPage[]) =>
      add(
        pages.map((data) => ({ name: 'page', data })),
        (data) => ({ jobId: pageJobId(data), priority: lanes.poll.priority }),
      ),

    /** Queued, delayed and active jobs: windows by series and counted by lane, and the job ids of pages. */
    async claimedWindows() {
      const listed = new Set(await queue.getRanges([...claimingStates], 0, maxListed - 1, true));
      const ids = [...listed, ...(await missedIds(listed))];
      const windows = new Map<number, ClaimedWindow[]>();
      const load = byLane(windowLanes, () => 0);
      const still = new Map<string, WindowLane>();
      await Promise.all(
        ids.map(async (id) => {
          const window = windowOfJobId(id);
          if (window === null) return;
          const lane = window.lane ?? (await laneOf(id));
          // It ended while the list was read.
          if (lane === null) return;
          still.set(id, lane);
          load[lane] += 1;
          const ranges = windows.get(window.seriesId) ?? [];
          const { startMs, endMs, run } = window;
          ranges.push({ startMs, endMs, lane, ...(run === undefined ? {} : { run }) });
          windows.set(window.seriesId, ranges);
        }),
      );
      known = still;
      return { windows, load, pages: new Set(ids.filter((id) => id.startsWith('page_'))) };
    },

    /** Queued and active ranges of each series, from job ids alone: for display, not for planning. */
    async queuedRanges(): Promise<ReadonlyMap<number, readonly QueuedRange[]>> {
      const list = (state: 'prioritized' | 'active') => queue.getRanges([state], 0, maxShown - 1, true);
      const [queued, active] = await Promise.all([list('prioritized'), list('active')]);
      const activeIds = new Set(active);
      const ranges = new Map<number, QueuedRange[]>();
      for (const id of new Set([...queued, ...active])) {
        const window = windowOfJobId(id);
        if (window === null) continue;
        const { seriesId, startMs, endMs } = window;
        ranges.set(seriesId, [...(ranges.get(seriesId) ?? []), { startMs, endMs, isActive: activeIds.has(id) }]);
      }
      return ranges;
    },

    /** Removes the windows of a series, except active ones and, unless they are dropped too, those of commands. */
    dropSeries: (seriesId: number, { commands = false } = {}) =>
      drop((window) => window.seriesId === seriesId && (commands || window.run === undefined)),

    /** Removes the windows of a command run, except active ones. */
    dropRun: (run: string) => drop((window) => window.run === run),

    async depth(): Promise<Depth> {
      const counts = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed');
      const count = (state: string) => counts[state] ?? 0;
      return { waiting: count('wait') + count('prioritized'), active: count('active'), delayed: count('delayed') };
    },

    /** Pauses all workers. A longer pause stays. */
    async pauseForMs(ms: number) {
      const wanted = Math.ceil(ms);
      if (wanted > 0 && (await queue.getRateLimitTtl()) < wanted) await queue.rateLimit(wanted);
    },

    /** Rest of the pause. The limiter's own spacing counts. */
    async pausedForMs() {
      return Math.max(0, await queue.getRateLimitTtl());
    },

    async endPause() {
      await queue.removeRateLimitKey();
    },

    /** Ends the repeating job by which earlier versions polled rates. */
    endRepeatedPolls: () => queue.removeJobScheduler('rates'),

    /** Number of connected workers. */
    countWorkers: async () => (await countWorkersOn(queue, options.workerName)).count,
  });
}
