import { expect } from 'vitest';
import { keptLockMs } from '../pipeline/run-pipeline.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill } from './backfill.ts';
import { memoryOf } from './memory.ts';
import { startWorkerProcess } from './processes.ts';
import { seededTest } from './seeded.ts';
import { expectWhole, untilWhole } from './witness.ts';

const megabyte = 1024 * 1024;

onEachBackend('bodies of 200 MB', (kind) => {
  seededTest('are rejected without memory growth', async (chance) => {
    const faults = { hugeRate: 0.3, hugeBytes: 200 * megabyte };
    const backfill = await beginBackfill(kind, chance, { windows: 12, attempts: 20, faults });
    const worker = startWorkerProcess(backfill, { lockMs: keptLockMs });
    await worker.waitForPrinted(/works/);
    const before = await memoryOf(worker);
    await backfill.pipeline.startScheduler(backfill.scheduler);
    await untilWhole(backfill);
    await expectWhole(backfill);
    const { huge = 0 } = backfill.simulator.requests().byFault;
    backfill.expectFewRequests({ extra: huge });
    const after = await memoryOf(worker);
    console.log(`${huge} huge bodies: RSS ${before.rssMb} MB before, ${after.rssMb} after, ${after.maxMb} at most`);
    expect(huge).toBeGreaterThan(0);
    // Eight concurrent bodies may be read up to the limit of 10 MB each. A single body that was read completely would
    // exceed this.
    expect(after.maxMb - before.rssMb).toBeLessThan(200);
  });
});
