/** `tidemark status` and the stream of the dashboard say the same of real processes. */

import { expect, inject, it, onTestFinished } from 'vitest';
import type { Headline } from '../../../planning/conditions.ts';
import { migrateQueueBackend } from '../../../queue/backend.ts';
import { startSimulator } from '../../../simulator/start.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';
import { market, processesMs, start, tidemark } from '../../scripts/command.ts';
import { headlineOf, listenTo } from './event-stream.ts';

describeNeeding('redis', 'the headline', () => {
  it(
    'is the same in status and in the stream: without processes, once all is fetched, while paused, and without queue or database',
    async () => {
      const { url, drop } = await createMigratedDatabase();
      onTestFinished(drop);
      const [database, redis] = [await proxyTo(url), await proxyTo(inject('redisUrl') ?? '')];
      const simulator = await startSimulator({ perMinute: null });
      onTestFinished(() => simulator.close());
      const namespace = `t${new URL(url).pathname.slice(-12)}`;
      const env: Record<string, string> = {
        ...{ DATABASE_URL: database.url, REDIS_URL: redis.url, QUEUE_NAMESPACE: namespace },
        ...{ SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '1200', PLANNING_TICK_MS: '200' },
        ...{ RATES_SECONDS: '0', EMPTY_CONFIRM_SECONDS: '1' },
      };
      await migrateQueueBackend({ redisUrl: redis.url, databaseUrl: url, namespace }, 'up');
      const track = ['track', 'candles', ...market, '--interval', 'h1', '--from', '2024-03-01'];
      expect((await tidemark(track, env)).exitCode).toBe(0);
      const service = start(['serve'], env);
      await waitFor('the dashboard', () => /dashboard at http:\S+\//.test(service.stdout()));
      const [, address = ''] = /dashboard at (http:\S+\/)/.exec(service.stdout()) ?? [];
      let stream = await listenTo(`${address}dashboard/events`);
      /** As a page does, it listens again when the stream ends. */
      const streamed = async (isWanted: (one: Headline) => boolean): Promise<Headline> => {
        const event = await stream.next((event) => isWanted(headlineOf(event))).catch(() => null);
        if (event !== null) return headlineOf(event);
        stream = await listenTo(`${address}dashboard/events`);
        return streamed(isWanted);
      };
      /** Waits until both say so. */
      const allSay = async (kind: Headline['kind'], level: Headline['level'], sentence: RegExp) => {
        const said = await streamed((one) => one.kind === kind && sentence.test(one.text));
        expect(said.level).toBe(level);
        await waitFor(`${kind} in status`, async () =>
          sentence.test((await tidemark(['status'], env)).stdout.split('\n')[0] ?? ''),
        );
      };
      const upToDate = () => allSay('healthy', 'ok', /^up to date: 1 series/);

      await allSay('no_worker', 'bad', /^no worker and no scheduler is connected: \d+ windows? left/);
      const run = start(['run', '--no-serve'], env);
      await upToDate();
      expect((await tidemark(['pause'], env)).exitCode).toBe(0);
      await allSay('paused', 'waiting', /^requests are paused since /);
      expect((await tidemark(['resume'], env)).exitCode).toBe(0);
      await upToDate();
      await redis.cut();
      await allSay('queue_away', 'bad', /^the queue does not answer: /);
      const failed = await tidemark(['status', '--json'], env);
      expect(failed.exitCode).not.toBe(0);
      expect(JSON.parse(failed.stdout)).toMatchObject({
        headline: { kind: 'queue_away' },
        error: { code: 'QUEUE_UNREACHABLE' },
      });
      await redis.mend();
      await upToDate();
      await database.cut();
      await allSay('database_away', 'bad', /^the database does not answer: /);
      await database.mend();
      await upToDate();
      run.kill('SIGKILL');
      await allSay('no_worker', 'bad', /^no worker and no scheduler is connected/);
    },
    processesMs,
  );
});
