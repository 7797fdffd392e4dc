import { expect } from 'vitest';
import { waitFor } from '../parts/wait-for.ts';
import { verdictsOf } from '../pipeline/stored.ts';
import { collectingLog, type Kind, onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill, concurrency, type FaultyBackfill, lockMs } from './backfill.ts';
import { databaseAt } from './database-away.ts';
import { type HeldCommits, holdCommits } from './held-commits.ts';
import { startWorkerProcess } from './processes.ts';
import { type Chance, seededTest } from './seeded.ts';
import { expectTrueSoFar, expectWhole, untilWhole } from './witness.ts';

const windows = 10;

/** Starts a worker that stops while it commits several windows in one transaction. */
async function inGroupCommit(
  kind: Kind,
  chance: Chance,
  start: (backfill: FaultyBackfill) => Promise<void>,
  attempts = 1,
): Promise<{ backfill: FaultyBackfill; held: HeldCommits }> {
  const backfill = await beginBackfill(kind, chance, { windows, attempts });
  const held = await holdCommits(backfill.database);
  await backfill.pipeline.startScheduler(backfill.scheduler);
  await start(backfill);
  await held.waitForAny();
  // More windows than there are transactions for, so that the others wait as a group.
  await waitFor('every place taken', () => backfill.simulator.requests().byStatus[200] === concurrency);
  await held.releaseSingles();
  await held.waitForGroup();
  await expectTrueSoFar(backfill);
  return { backfill, held };
}

onEachBackend('a group of windows that is being committed', (kind) => {
  seededTest('is requested again completely when the worker is killed', async (chance) => {
    let kill = async () => {};
    const { backfill, held } = await inGroupCommit(kind, chance, async (begun) => {
      const victim = startWorkerProcess(begun);
      await victim.waitForPrinted(/works/);
      kill = () => victim.end('SIGKILL');
    });
    await kill();
    await held.releaseGroups();
    await expectTrueSoFar(backfill);
    await backfill.pipeline.startWorker({ ...backfill.worker, lockMs });
    await untilWhole(backfill);
    await expectWhole(backfill);
    backfill.expectFewRequests({ extra: concurrency });
  });

  seededTest('is requested again, at no cost of attempts, when its connection is terminated', async (chance) => {
    const { backfill, held } = await inGroupCommit(kind, chance, async (begun) => {
      const database = databaseAt(begun.database.url);
      await begun.pipeline.startWorker({ ...begun.worker, database });
    });
    await held.terminateGroups();
    await held.releaseGroups();
    await untilWhole(backfill);
    await expectWhole(backfill);
    backfill.expectFewRequests({ extra: concurrency });
    // A market that was silent at the edge of a window is requested once more; nothing failed.
    const verdicts = (await verdictsOf(backfill.database)).map(({ verdict }) => verdict);
    expect(verdicts.filter((verdict) => verdict !== 'cut_short')).toEqual(['filled']);
  });

  seededTest('is committed window by window when it takes too long', async (chance) => {
    const lines: string[] = [];
    const { backfill } = await inGroupCommit(
      kind,
      chance,
      async (begun) => {
        const database = databaseAt(begun.database.url, 1000);
        await begun.pipeline.startWorker({ ...begun.worker, database, log: collectingLog(lines) });
      },
      10,
    );
    // The lock on groups is never released.
    await untilWhole(backfill);
    await expectWhole(backfill);
    // Another window of the series may have timed out waiting for the same row, which is a lock timeout. No window of
    // the group is requested again.
    expect(lines.every((line) => /(statement|lock) timeout/.test(line))).toBe(true);
    backfill.expectFewRequests({ extra: lines.length });
  });
});
