import { onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill } from './backfill.ts';
import { killSchedulers, killWorkers, lostLock } from './processes.ts';
import { seededTest } from './seeded.ts';

const times = 50;
const longestMs = 1_200_000;

onEachBackend('a backfill', (kind) => {
  seededTest(
    `loses nothing when its workers are killed ${times} times`,
    async (chance) => {
      const limits = { requestsPerMinute: 1200, complaints: lostLock };
      await killWorkers(await beginBackfill(kind, chance, { windows: 40, ...limits }), chance, times);
    },
    longestMs,
  );

  seededTest(
    `loses nothing when its scheduler is killed ${times} times`,
    async (chance) => {
      const backfill = await beginBackfill(kind, chance, { windows: 40, complaints: lostLock });
      await killSchedulers(backfill, chance, times);
    },
    longestMs,
  );
});
