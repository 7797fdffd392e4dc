import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { networkHost } from '../parts/network-host.ts';
import { waitFor } from '../parts/wait-for.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill, concurrency, type FaultyBackfill } from './backfill.ts';
import { lostLock, startWorkerProcess } from './processes.ts';
import { seededTest } from './seeded.ts';
import { expectWhole, untilWhole, watch } from './witness.ts';

const cutMs = 60_000;
const requestsPerMinute = 480;

onEachBackend('workers on two hosts', (kind) => {
  seededTest('continue without the host that is cut off for a minute, and lose nothing', async (chance, context) => {
    const hosts = [networkHost(context), networkHost(context)] as const;
    const backfill = await beginBackfill(kind, chance, {
      windows: requestsPerMinute,
      requestsPerMinute,
      complaints: lostLock,
    });
    await backfill.pipeline.startScheduler(backfill.scheduler);
    const [stays, isCut] = await Promise.all(
      hosts.map(async (host) => ({ host, worker: await startWorkerOn(host, backfill) })),
    );
    const watching = watch(backfill);
    await Promise.all([stays, isCut].map((one) => one?.worker.waitForPrinted(/works/)));
    const requests = () => backfill.simulator.requests().total;
    await backfill.requestsInAll(40);

    isCut?.host.cut();
    const before = requests();
    await delay(cutMs);
    // The other host uses the whole budget.
    expect(requests() - before).toBeGreaterThan((requestsPerMinute * cutMs) / 60_000 / 2);
    const connections = isCut?.host.connections() ?? 0;
    isCut?.host.mend();
    await waitFor('the host to be back', () => (isCut?.host.connections() ?? 0) > connections);

    await untilWhole(backfill);
    await watching.stop();
    await expectWhole(backfill);
    backfill.expectFewRequests({ extra: 2 * concurrency, underWay: 2 * concurrency });
  });
});

async function startWorkerOn(host: ReturnType<typeof networkHost>, backfill: FaultyBackfill) {
  const { queueOptions, database } = backfill.pipeline;
  const databaseUrl = await host.reach(database.url);
  const redisUrl = queueOptions.redisUrl && (await host.reach(queueOptions.redisUrl));
  const sourceUrl = (await host.reach(backfill.simulator.url)).replace(/\/$/, '');
  return startWorkerProcess(
    backfill,
    { databaseUrl, sourceUrl, queueOptions: { ...queueOptions, redisUrl, databaseUrl } },
    host.prefix,
  );
}
