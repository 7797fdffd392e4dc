import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { expect, onTestFinished, type TestContext } from 'vitest';
import { openQueueBackend } from '../../queue/backend.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { databaseOnSmallDisk, describeWithSmallDisk } from '../parts/small-disk.ts';
import { collectingLog, onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill, concurrency, lockMs } from './backfill.ts';
import { databaseAt } from './database-away.ts';
import { quickPauses } from './quick-pauses.ts';
import { seededTest } from './seeded.ts';
import { expectTrueSoFar, expectWhole, untilWhole } from './witness.ts';

async function storeOnSmallDisk(context: TestContext) {
  const { url, filler } = await databaseOnSmallDisk(context, 128);
  return {
    database: databaseAt(url),
    fill() {
      try {
        execFileSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'], { stdio: 'ignore' });
      } catch {
        // Expected when the disk is full.
      }
    },
    makeRoom: () => rmSync(filler),
  };
}

describeWithSmallDisk('a database whose disk is full', () => {
  onEachBackend('during a backfill', (kind) => {
    seededTest('stops without a line per attempt, and resumes when there is space again', async (chance, context) => {
      const { database, fill, makeRoom } = await storeOnSmallDisk(context);
      const backfill = await beginBackfill(kind, chance, {
        ...{ windows: 150, store: { database }, complaints: /space|lock|job/i },
      });
      const { pipeline, clock, simulator } = backfill;
      const lines = new Arrivals<string>();
      const log = collectingLog(lines);
      const own = await openQueueBackend({ ...pipeline.queueOptions, attempts: 1, log });
      onTestFinished(() => own.close());
      const { queues, pausesMs } = quickPauses(own, clock);
      await pipeline.startScheduler({ ...backfill.scheduler, lockMs, queues });
      simulator.setFaults({ latencyMs: 20 });
      await pipeline.startWorker({ ...backfill.worker, lockMs, queues, log });
      await backfill.requestsMore(chance.whole(3, 30));
      fill();
      const full = () => lines.filter((line) => line.includes('No space left on device'));
      // A busy machine may lose the lock of a job before, and log that.
      await lines.until(() => full().length > 0);
      // A queue in the same database may have no space for a pause or any other row.
      if (kind === 'redis') await pausesMs.until(6);
      await expectTrueSoFar(backfill);
      makeRoom();
      await untilWhole(backfill);
      await expectWhole(backfill);
      // A commit that still fits into a page ends the outage for a moment, and the next one begins it again. On
      // PostgreSQL the queue itself also fails, and may lose the lock of a job.
      expect(full().length).toBeLessThanOrEqual(3);
      expect(lines.filter((line) => !full().includes(line) && !/lock|job/i.test(line))).toEqual([]);
      backfill.expectFewRequests({ extra: (pausesMs.length + 2) * 2 * concurrency });
    });
  });
});
