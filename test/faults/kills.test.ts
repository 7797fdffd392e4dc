import { onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill, concurrency, type FaultyBackfill } from './backfill.ts';
import { lostLock, startSchedulerProcess, startWorkerProcess } from './processes.ts';
import { type Chance, seededTest } from './seeded.ts';
import { expectWhole, untilWhole, watch } from './witness.ts';

/** Adds windows when few are left, so that the database does not run out of missing ones before the last kill. */
async function keepGoing(backfill: FaultyBackfill): Promise<void> {
  const left = backfill.windows() - backfill.simulator.requests().total;
  if (left < 40) await backfill.widen(40);
}

/** Waits for some random milliseconds: a window takes about as long from its request to its commit. */
async function aMoment(chance: Chance): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, chance.whole(0, 60)));
}

onEachBackend('a backfill', (kind) => {
  seededTest('loses nothing when its workers are killed at random times', async (chance) => {
    const times = 3;
    const backfill = await beginBackfill(kind, chance, {
      ...{ windows: 40, requestsPerMinute: 1200, complaints: lostLock },
    });
    await backfill.pipeline.startScheduler(backfill.scheduler);
    const workers = [startWorkerProcess(backfill), startWorkerProcess(backfill)];
    const watching = watch(backfill);
    for (let killed = 0; killed < times; killed += 1) {
      const place = chance.whole(0, workers.length - 1);
      await workers[place]?.waitForPrinted(/works/);
      await keepGoing(backfill);
      await backfill.requestsMore(chance.whole(1, 10));
      await aMoment(chance);
      await workers[place]?.end('SIGKILL');
      workers[place] = startWorkerProcess(backfill);
    }
    await untilWhole(backfill);
    await watching.stop();
    await expectWhole(backfill);
    // The requests in flight of a killed worker are repeated.
    backfill.expectFewRequests({ extra: times * concurrency, underWay: 4 * concurrency });
  });

  seededTest('loses nothing when its scheduler is killed at random times', async (chance) => {
    const times = 2;
    const backfill = await beginBackfill(kind, chance, { windows: 40, complaints: lostLock });
    await backfill.pipeline.startWorker(backfill.worker);
    // The queue holds few windows, so that work soon stops without a scheduler.
    // After some seconds the worker keeps to this budget as well.
    const few = 240;
    let scheduler = startSchedulerProcess(backfill, few);
    const watching = watch(backfill);
    for (let killed = 0; killed < times; killed += 1) {
      await scheduler.waitForPrinted(/works/);
      await keepGoing(backfill);
      await backfill.requestsMore(chance.whole(1, 40));
      await aMoment(chance);
      await scheduler.end('SIGKILL');
      scheduler = startSchedulerProcess(backfill, few);
    }
    await untilWhole(backfill);
    await watching.stop();
    await expectWhole(backfill);
    backfill.expectFewRequests({ extra: times });
  });
});
