import { describeNeeding } from '../parts/describe-needing.ts';
import { ownRedis } from '../parts/own-redis.ts';
import { beginBackfill, concurrency, lockMs } from './backfill.ts';
import { seededTest } from './seeded.ts';
import { expectWhole, untilWhole, watch } from './witness.ts';

const size = { windows: 40, requestsPerMinute: 1200 };

describeNeeding('redis', 'a backfill', () => {
  seededTest('loses nothing when Redis restarts with an older snapshot', async (chance, context) => {
    const redis = await ownRedis(context);
    const backfill = await beginBackfill('redis', chance, { ...size, redisUrl: redis.url, complaints: /./ });
    await backfill.pipeline.startScheduler({ ...backfill.scheduler, lockMs });
    await backfill.pipeline.startWorker({ ...backfill.worker, lockMs });
    const watching = watch(backfill);
    let since = 0;
    for (let stops = 0; stops < 2; stops += 1) {
      await backfill.requestsMore(chance.whole(3, 15));
      await redis.save();
      const asked = chance.whole(3, 15);
      await backfill.requestsMore(asked);
      since += asked + concurrency;
      await redis.stop();
      await redis.start();
    }
    await untilWhole(backfill);
    await watching.stop();
    await expectWhole(backfill);
    // The jobs completed since the snapshot are queued again, and their windows are requested again.
    backfill.expectFewRequests({ extra: 2 * since + 4 * concurrency, underWay: 3 * concurrency });
  });

  seededTest('loses nothing when Redis is flushed repeatedly', async (chance, context) => {
    const redis = await ownRedis(context);
    const backfill = await beginBackfill('redis', chance, { ...size, redisUrl: redis.url, complaints: /lock|job/i });
    await backfill.pipeline.startScheduler(backfill.scheduler);
    await backfill.pipeline.startWorker(backfill.worker);
    const watching = watch(backfill);
    for (let flushes = 0; flushes < 2; flushes += 1) {
      await backfill.requestsMore(chance.whole(3, 20));
      await redis.flush();
    }
    await untilWhole(backfill);
    await watching.stop();
    await expectWhole(backfill);
    // The queue loses the spacing of requests and the list of those in flight.
    backfill.expectFewRequests({ extra: 2 * 2 * concurrency, underWay: 3 * concurrency });
  });
});
