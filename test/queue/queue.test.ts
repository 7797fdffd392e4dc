import type { Queue } from 'bullmq';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { QueueBackend } from '../../queue/backend.ts';
import { type Attempt, done, type Outcome, putBack, type RequestJob, windowJobId } from '../../queue/jobs.ts';
import { requestQueue } from '../../queue/requests.ts';
import type { WorkerSettings } from '../../queue/worker.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { startChildModule } from '../parts/child-module.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyQueue, loseJobs, onEachBackend, openQueue, prepareQueue, windowAt } from './queue-parts.ts';

type RequestAttempt = Attempt<RequestJob>;

/** Runs the queued jobs, and closes with the test. */
function startWorker(
  queues: QueueBackend,
  processor: (attempt: RequestAttempt) => Promise<Outcome> | Outcome,
  settings: Partial<WorkerSettings> = {},
) {
  const worker = queues.startRequestWorker(async (attempt) => processor(attempt), {
    concurrency: 1,
    limiter: null,
    ...settings,
  });
  onTestFinished(() => worker.close(0));
  return worker;
}

/** The place of a window, or a whole job of another kind. */
const placeOf = ({ job }: RequestAttempt) => ('startMs' in job.data ? job.data.startMs / 3_600_000 : job);

/**
 * Runs the queued jobs. The one in place 1, 2, ... ends as `ends` says.
 *
 * @returns what `tell` says of each, in order.
 */
function runJobs<Told>(
  queues: QueueBackend,
  tell: (attempt: RequestAttempt) => Told,
  { ends = () => done, ...settings }: Partial<WorkerSettings> & { ends?: (place: number) => Outcome } = {},
) {
  const ran = new Arrivals<Told>();
  startWorker(queues, (attempt) => ends(ran.push(tell(attempt))), settings);
  return ran;
}

onEachBackend('the requests queue', (kind) => {
  test('queues a window once, whichever process adds it', async () => {
    const options = await prepareQueue(kind);
    const [one, other] = [await openQueue(options), await openQueue(options)];
    await one.requests.addWindows([windowAt(1), windowAt(2, 'refresh')]);
    await other.requests.addWindows([windowAt(2, 'refresh'), windowAt(3), windowAt(3)]);

    const claimed = await one.requests.claimedWindows();
    expect(claimed.load).toMatchObject({ refresh: 1, backfill: 2 });
    expect(
      claimed.windows
        .get(1)
        ?.map((range) => range.startMs / 3_600_000)
        .sort(),
    ).toEqual([1, 2, 3]);
    expect(await one.requests.depth()).toEqual({ waiting: 3, active: 0, delayed: 0 });

    const ran = runJobs(one, ({ id }) => id);
    await waitFor('an empty queue', async () => (await one.requests.claimedWindows()).windows.size === 0);
    expect(new Set(ran)).toEqual(new Set([1, 2, 3].map((place) => windowJobId(windowAt(place)))));
    expect(ran).toHaveLength(3);

    // The id is free again: a missing window can be requested again.
    await other.requests.addWindows([windowAt(1)]);
    await ran.until(4);
  });

  test('lists a window that moves while the states are read one after the other', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    const [queue] = queues.bullQueues();
    const options = { attempts: 1, workerName: 'test', carry: () => undefined, listsAtOnce: false };
    const requests = requestQueue(queue as never, options);
    await requests.addWindows([windowAt(1)]);
    // A worker puts the window back twice meanwhile: each state is read when the window is in another.
    vi.spyOn(queue as Queue, 'getRanges').mockResolvedValueOnce([]);
    expect((await requests.claimedWindows()).load).toMatchObject({ backfill: 1 });
    await queues.requests.dropSeries(1);
    expect((await requests.claimedWindows()).load).toMatchObject({ backfill: 0 });
  });

  test('counts running jobs and jobs that wait for a retry as claimed', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    await queues.requests.addWindows([windowAt(1), windowAt(2), windowAt(3, 'refresh')]);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    startWorker(queues, async (attempt) => {
      if (attempt.id === windowJobId(windowAt(3))) return { kind: 'retry', inMs: 600_000, counted: true };
      await held;
      return done;
    });
    await waitFor('one job to be under way and one delayed', async () => {
      const depth = await queues.requests.depth();
      return depth.active === 1 && depth.delayed === 1 && depth.waiting === 1;
    });
    // Another process has no cached lanes.
    const claimed = await queues.requests.claimedWindows();
    expect(claimed.load).toMatchObject({ refresh: 1, backfill: 2 });
    expect(claimed.windows.get(1)).toHaveLength(3);
    // The displayed ranges exclude the window that waits for a retry.
    const shown = (await queues.requests.queuedRanges()).get(1) ?? [];
    const places = shown.map(({ startMs, isActive }) => `${startMs / 3_600_000}${isActive ? ' active' : ''}`);
    expect(places.sort()).toEqual(['1 active', '2']);
    release();
  });

  test('runs pages in turn with refreshes and before backfill, each once', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    const page = (firstRow: number) => ({ pollId: 7, list: { dataset: 'assets' as const, asset: null }, firstRow });
    await queues.requests.addWindows([windowAt(1)]);
    await queues.requests.addPages([page(0), page(2000)]);
    await queues.requests.addPages([page(0)]);
    await queues.requests.addWindows([windowAt(8, 'refresh')]);
    expect((await queues.requests.claimedWindows()).pages).toEqual(new Set(['page_7_0', 'page_7_2000']));
    const ran = runJobs(queues, placeOf);
    await ran.until(4);
    expect(ran).toEqual([{ name: 'page', data: page(0) }, { name: 'page', data: page(2000) }, 8, 1]);
  });

  test('spaces the starts of all workers together', async () => {
    const options = await prepareQueue(kind);
    const [one, other] = [await openQueue(options), await openQueue(options)];
    const starts = new Arrivals<number>();
    const limiter = { max: 1, durationMs: 60 };
    for (const queues of [one, other]) {
      startWorker(
        queues,
        () => {
          starts.push(performance.now());
          return done;
        },
        { concurrency: 4, limiter },
      );
    }
    const jobs = 24;
    const begun = performance.now();
    await one.requests.addWindows(Array.from({ length: jobs }, (_, place) => windowAt(place)));
    await starts.until(jobs);
    // The limiter spaces the claims.
    expect((starts.at(-1) ?? 0) - begun).toBeGreaterThanOrEqual((jobs - 2) * limiter.durationMs);
  });

  test('never waits for a negative time when a slow machine delays it between two readings of the clock', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    const places = Array.from({ length: 60 }, (_, place) => place + 1);
    await queues.requests.addWindows(places.map((place) => windowAt(place)));
    const timers = vi.spyOn(globalThis, 'setTimeout');
    // Each reading of the clock is 3 ms later, as on a busy machine.
    const clock = Date.now;
    let looks = 0;
    const slow = vi.spyOn(Date, 'now').mockImplementation(() => clock() + 3 * looks++);
    onTestFinished(() => {
      slow.mockRestore();
      timers.mockRestore();
    });
    const ran = runJobs(queues, ({ id }) => id, { limiter: { max: 1, durationMs: 10 } });
    await ran.until(places.length);
    expect(timers.mock.calls.filter(([, ms]) => ms !== undefined && ms < 0)).toEqual([]);
  });

  for (const limiter of [null, { max: 1, durationMs: 5 }]) {
    test(`keeps a pause ${limiter === null ? 'without a limiter' : 'with a limiter'}, and only extends it`, async () => {
      const options = await prepareQueue(kind);
      const [one, other] = [await openQueue(options), await openQueue(options)];
      await one.requests.pauseForMs(600_000);
      await one.requests.pauseForMs(1);
      expect(await other.requests.pausedForMs()).toBeGreaterThan(1);
      await one.requests.endPause();
      const pauseMs = 100;
      const pausedAt = performance.now();
      await one.requests.pauseForMs(pauseMs);

      const starts = runJobs(other, () => performance.now(), { limiter });
      await one.requests.addWindows([windowAt(1)]);
      await starts.until(1);
      // Both clocks count whole milliseconds.
      expect(Number(starts[0]) - pausedAt).toBeGreaterThanOrEqual(pauseMs - 2);
    });
  }

  test('counts retries as attempts, and removes the job when they are used up', async () => {
    const queues = await openQueue(await prepareQueue(kind), { attempts: 3 });
    const attempts = runJobs(queues, ({ number, last }) => [number, last], {
      ends: () => ({ kind: 'retry', inMs: 5, counted: true }),
    });
    await queues.requests.addWindows([windowAt(1)]);
    await attempts.until(3);
    await waitFor('an empty queue', async () => (await queues.requests.claimedWindows()).windows.size === 0);
    expect(attempts).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
  });

  test('retries an attempt that throws', async () => {
    const queues = await openQueue(await prepareQueue(kind), { expect: /a defect/ });
    const attempts = runJobs(queues, ({ number }) => number, {
      ends(place) {
        if (place === 1) throw new Error('a defect');
        return done;
      },
    });
    await queues.requests.addWindows([windowAt(1)]);
    await attempts.until(2);
    expect(attempts).toEqual([1, 2]);
  });

  test('keeps the attempts of uncounted retries and returned jobs', async () => {
    const queues = await openQueue(await prepareQueue(kind), { attempts: 2 });
    const outcomes: Outcome[] = [
      putBack,
      { kind: 'retry', inMs: 5, counted: false },
      putBack,
      { kind: 'retry', inMs: 5, counted: false },
      done,
    ];
    const attempts = runJobs(queues, ({ number }) => number, { ends: (place) => outcomes[place - 1] ?? done });
    await queues.requests.addWindows([windowAt(1)]);
    await attempts.until(outcomes.length);
    expect(attempts).toEqual([1, 1, 1, 1, 1]);
  });

  test('runs a returned job next in its lane', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    await queues.requests.addWindows([windowAt(1), windowAt(2), windowAt(3)]);
    const ran = runJobs(queues, placeOf, { ends: (place) => (place === 1 ? putBack : done) });
    await ran.until(4);
    expect(ran).toEqual([1, 1, 2, 3]);
  });

  test('runs the job of a killed worker again, at no cost of attempts', async () => {
    const options = await prepareQueue(kind);
    const queues = await openQueue(options);
    await queues.requests.addWindows([windowAt(1)]);
    const lockMs = 400;
    const holder = startChildModule('test/queue/job-holder.ts', [JSON.stringify(options), String(lockMs)]);
    onTestFinished(() => holder.end());
    await holder.waitForPrinted(/holds 1_3600000_7200000/);
    await waitFor('the worker to be counted', async () => (await queues.requests.countWorkers()) === 1);
    await holder.end('SIGKILL');
    expect(await queues.requests.depth()).toMatchObject({ active: 1 });

    const numbers = runJobs(queues, ({ number }) => number, { lockMs });
    await numbers.until(1);
    expect(numbers).toEqual([1]);
    await waitFor('an empty queue', async () => (await queues.requests.claimedWindows()).windows.size === 0);
  });

  test('waits for running jobs when it closes', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    await queues.requests.addWindows([windowAt(1), windowAt(2)]);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const started = new Arrivals<string>();
    let stopped = false;
    const worker = startWorker(queues, async (attempt) => {
      started.push(attempt.id);
      attempt.stopping.addEventListener('abort', () => {
        stopped = true;
      });
      await held;
      return done;
    });
    await started.until(1);
    const closing = worker.close(30_000);
    release();
    await closing;
    expect({ started: started.length, stopped }).toEqual({ started: 1, stopped: false });
    expect(await queues.requests.depth()).toEqual({ waiting: 1, active: 0, delayed: 0 });
  });

  test.each([
    ['returns jobs that do not end in time when it closes', 0],
    ['closes during a long pause without waiting for its end', 600_000],
  ])('%s', async (_, pauseMs) => {
    const queues = await openQueue(await prepareQueue(kind));
    await queues.requests.addWindows([windowAt(1), windowAt(2)]);
    const started = new Arrivals<string>();
    const worker = startWorker(queues, async (attempt) => {
      if (pauseMs > 0) await queues.requests.pauseForMs(pauseMs);
      started.push(attempt.id);
      await new Promise((resolve) => attempt.stopping.addEventListener('abort', resolve));
      return putBack;
    });
    await started.until(1);
    await worker.close(0);
    expect(await queues.requests.depth()).toEqual({ waiting: 2, active: 0, delayed: 0 });
    expect(await queues.requests.countWorkers()).toBe(0);
  });

  test('runs the windows of a command in turn with a backfill, apart from windows of the same bounds, and can drop its run', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    const asked = (lane: 'verify' | 'repair', run: string, place = 1) => ({ ...windowAt(place, lane), run });
    await queues.requests.addWindows([
      asked('verify', 'aa11'),
      asked('verify', '2222'),
      asked('repair', '2222', 3),
      windowAt(1),
      windowAt(1, 'reread'),
      windowAt(2, 'refresh'),
    ]);
    const claimed = await queues.requests.claimedWindows();
    expect(claimed.load).toEqual({ refresh: 1, backfill: 1, probe: 0, reread: 1, repair: 1, verify: 2 });
    const runs = claimed.windows.get(1)?.map(({ lane, run }) => `${lane} ${run ?? '-'}`);
    expect(runs?.sort()).toEqual(
      ['backfill -', 'refresh -', 'repair 2222', 'reread -', 'verify 2222', 'verify aa11'].sort(),
    );
    await queues.requests.dropRun('2222');
    const ran = runJobs(queues, ({ job }) => ('lane' in job.data ? job.data.lane : job));
    await ran.until(4);
    expect(ran).toEqual(['refresh', 'verify', 'backfill', 'reread']);
  });

  test('can drop the windows of one series, with or without those of commands', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    const mine = [windowAt(1, 'refresh', 12), windowAt(2, 'backfill', 12)];
    const asked = { ...windowAt(3, 'verify', 12), run: 'aa11' };
    await queues.requests.addWindows([...mine, asked, windowAt(1, 'backfill', 1), windowAt(1, 'backfill', 2)]);
    await queues.requests.dropSeries(12);
    const { windows } = await queues.requests.claimedWindows();
    expect([...windows.keys()].sort()).toEqual([1, 12, 2]);
    expect(windows.get(12)).toMatchObject([{ lane: 'verify' }]);
    await queues.requests.dropSeries(12, { commands: true });
    expect([...(await queues.requests.claimedWindows()).windows.keys()].sort()).toEqual([1, 2]);
  });

  test('counts only the workers of this installation', async () => {
    const options = await prepareQueue(kind);
    const queues = await openQueue(options);
    const stranger = await openQueue(await prepareQueue(kind, options.databaseUrl));
    await startWorker(stranger, () => done).ready();
    expect(await queues.requests.countWorkers()).toBe(0);
    const worker = startWorker(queues, () => done);
    await worker.ready();
    // On PostgreSQL the workers of one process count once.
    await startWorker(await openQueue(options), () => done).ready();
    await waitFor('two workers to be counted', async () => (await queues.requests.countWorkers()) === 2);
    await worker.close(0);
    await waitFor('one of them to leave', async () => (await queues.requests.countWorkers()) === 1);
  });

  if (kind === 'redis') {
    test('counts no worker of another database of the same Redis', async () => {
      const options = await prepareQueue(kind);
      const queues = await openQueue(options);
      const beside = { ...options, redisUrl: `${options.redisUrl}/1` };
      onTestFinished(() => emptyQueue(beside));
      const others = await openQueue(beside);
      await startWorker(others, () => done).ready();
      await waitFor('the worker to be counted', async () => (await others.requests.countWorkers()) === 1);
      expect(await queues.requests.countWorkers()).toBe(0);
      await startWorker(queues, () => done).ready();
      await waitFor('the own one to be counted', async () => (await queues.requests.countWorkers()) === 1);
      expect(await others.requests.countWorkers()).toBe(1);
    });
  }

  test('repeats passes, and restores them when the queue is lost', async () => {
    const options = await prepareQueue(kind);
    // Emptying the queue takes locks in another order than the worker, which may be the one that is told so.
    const queues = await openQueue(options, { expect: /deadlock detected/ });
    await queues.planning.tickEvery(50);
    const ran = new Arrivals<string>();
    const settings = { concurrency: 1, limiter: null };
    const worker = queues.startPlanningWorker(async ({ id }) => (ran.push(id) > 0 ? done : done), settings);
    onTestFinished(() => worker.close(0));
    await ran.until(3);
    await emptyQueue(options);
    await queues.planning.tickEvery(50);
    await ran.until(ran.length + 2);
  });

  test('restores a repetition as soon as its next job is missing, and leaves one that waits', async () => {
    const options = await prepareQueue(kind);
    const queues = await openQueue(options);
    const passes = async (everyMs = 50, times = [1]) => {
      await Promise.all(times.map(() => queues.planning.tickEvery(everyMs)));
      const planning = queues.bullQueues().find(({ name }) => name.endsWith('planning'));
      return (await planning?.getJobs(['delayed', 'wait', 'prioritized']))?.map(({ id }) => id);
    };
    const [first] = (await passes()) ?? [];
    const clock = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => clock() + 250);
    expect(await passes()).toEqual([first]);
    await loseJobs(options);
    expect(await passes()).toEqual([expect.stringMatching(/^repeat:tick:\d+$/)]);
    await passes(600_000);
    expect(await passes(600_000, [1, 2, 3])).toHaveLength(1);
  });

  test('ends the repeating polls of an earlier version', async () => {
    const queues = await openQueue(await prepareQueue(kind));
    const requests = queues.bullQueues().find(({ name }) => name.endsWith('requests'));
    await requests?.upsertJobScheduler('rates', { every: 600_000 }, { name: 'rates', data: {} });
    await queues.requests.endRepeatedPolls();
    expect(await requests?.getJobSchedulers()).toEqual([]);
  });
});
