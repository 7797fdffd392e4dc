/** A scheduler tells that the database or the queue is away, although both are what it works with. */

import { expect, inject, it } from 'vitest';
import { startHook } from '../notify/hook.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import { proxyTo } from '../queue/cuttable-proxy.ts';
import { openWatched } from '../scripts/commands/watch-list-parts.ts';

describeNeeding('redis', 'what a scheduler works with goes away', () => {
  it('each outage is told, and its end', { timeout: 600_000 }, async () => {
    const { begin, say, write, url } = await openWatched();
    const [database, redis] = [await proxyTo(url), await proxyTo(inject('redisUrl') ?? '')];
    const env = {
      ...{ DATABASE_URL: database.url, REDIS_URL: redis.url },
      QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}`,
    };
    const hook = await startHook();
    const told = () =>
      hook.received.map(({ body }) => {
        const { event, condition, before } = JSON.parse(body) as Record<string, string | null>;
        return event === 'recovery' ? `recovery: ${before}` : `${event} ${condition}`;
      });
    await say('track candles --exchange binance --base bitcoin --quote tether --interval h1 --from 2024-03-01', env);
    write(`notify: [{ webhook: '${hook.url}', after: 10s }]`);
    const running = begin('scheduler', env);
    const next = (what: string | RegExp) =>
      waitFor(`to be told: ${what}`, () => (told().at(-1) ?? '').search(what) === 0);
    await next('trouble no_worker');
    await database.cut();
    await next('trouble database_away');
    await database.mend();
    await next(/recovery: the database does not answer/);
    await redis.cut();
    await next('change queue_away');
    await redis.mend();
    await next('change no_worker');
    running.kill('SIGTERM');
    expect((await running.ended).exitCode).toBe(0);
    expect(told()).toHaveLength(5);
  });
});
