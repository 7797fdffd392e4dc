import { expect } from 'vitest';
import { collectingLog, onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill, concurrency, type FaultyBackfill, lockMs } from './backfill.ts';
import { storeToCrash, storeToCut, untilItAnswers } from './database-away.ts';
import { type Chance, seededTest } from './seeded.ts';
import { expectWhole, untilWhole, watch } from './witness.ts';

const windows = 40;
const times = 2;
/** The queue may log anything while its store is unreachable. */
const anything = /./;

onEachBackend('a backfill', (kind) => {
  /** Injects the fault repeatedly. Only the requests in flight at those times are repeated. */
  async function strike(backfill: FaultyBackfill, chance: Chance, fault: () => Promise<void>): Promise<string[]> {
    const lines: string[] = [];
    const log = collectingLog(lines);
    await backfill.pipeline.startScheduler({ ...backfill.scheduler, lockMs, log });
    // With one attempt, a database failure that counted as an attempt would defer the window.
    await backfill.pipeline.startWorker({ ...backfill.worker, lockMs, log });
    const watching = watch(backfill);
    for (let struck = 0; struck < times; struck += 1) {
      await backfill.requestsMore(chance.whole(3, 20));
      await fault();
    }
    await untilWhole(backfill);
    await watching.stop();
    await expectWhole(backfill);
    backfill.expectFewRequests({ extra: 2 * times * concurrency, underWay: 2 * concurrency });
    return lines;
  }

  seededTest('loses nothing when the database crashes and restarts', async (chance, context) => {
    const { cluster, database } = await storeToCrash(context);
    const backfill = await beginBackfill(kind, chance, {
      ...{ windows, requestsPerMinute: 1200, complaints: anything, store: { database } },
    });
    const lines = await strike(backfill, chance, async () => {
      await cluster.crash();
      await cluster.start();
      await untilItAnswers(database);
    });
    const away = lines.filter((line) => line.includes('the database is unreachable'));
    expect(away.length).toBeGreaterThan(0);
    expect(away.length).toBeLessThanOrEqual(times);
  });

  seededTest('loses nothing when the network breaks and recovers', async (chance) => {
    const { proxy, database, beside } = await storeToCut();
    const backfill = await beginBackfill(kind, chance, {
      ...{ windows, requestsPerMinute: 1200, complaints: anything, store: { database }, beside },
    });
    await strike(backfill, chance, async () => {
      await proxy.cut();
      await proxy.mend();
    });
  });
});
