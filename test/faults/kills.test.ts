import { onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill } from './backfill.ts';
import { killSchedulers, killWorkers, lostLock } from './processes.ts';
import { seededTest } from './seeded.ts';

onEachBackend('a backfill', (kind) => {
  seededTest('loses nothing when its workers are killed at random times', async (chance) => {
    const budget = { requestsPerMinute: 1200 };
    await killWorkers(
      await beginBackfill(kind, chance, { windows: 40, ...budget, complaints: lostLock }),
      chance,
      3,
    );
  });

  seededTest('loses nothing when its scheduler is killed at random times', async (chance) => {
    await killSchedulers(await beginBackfill(kind, chance, { windows: 40, complaints: lostLock }), chance, 2);
  });
});
