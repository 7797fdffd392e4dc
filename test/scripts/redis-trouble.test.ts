/** Redis vanishes while a command works, and comes back or not. */

import { expect, inject, it } from 'vitest';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import { proxyTo } from '../queue/cuttable-proxy.ts';
import { openWatched } from './commands/watch-list-parts.ts';

const candles =
  'candles --exchange binance --base bitcoin --quote tether --interval m1 --from 2024-03-01 --to 2024-03-16';

/** Begins a command whose requests are spaced, and cuts it off from Redis. */
async function cutOff(
  words: string,
  perMinute: string,
  isUnderWay: (stderr: string, requests: number) => boolean,
) {
  const { begin, say, url, simulator } = await openWatched();
  const proxy = await proxyTo(inject('redisUrl') ?? '');
  // A namespace of the test's own: Redis is shared by all of them.
  const queue = { REDIS_URL: proxy.url, QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}` };
  await say('migrate', queue);
  await say(`track ${candles}`, queue);
  const running = begin(words, { ...queue, LOG_LEVEL: 'info', SOURCE_REQUESTS_PER_MINUTE: perMinute });
  await waitFor('it to be under way', () => isUnderWay(running.stderr(), simulator.requests().total));
  await proxy.cut();
  const loss =
    words === 'run --no-serve' ? /ECONNREFUSED/ : /QUEUE_UNREACHABLE: .*ECONNREFUSED .*retrying until/;
  await waitFor('the loss', () => loss.test(running.stderr()));
  return { running, say: (command: string) => say(command, queue), mend: () => proxy.mend() };
}

const hasAskedTwice = (_: string, requests: number) => requests >= 2;

describeNeeding('redis', 'while Redis is unreachable', () => {
  it('backfill names the cause, and ends at Ctrl-C', async () => {
    const { running } = await cutOff(`backfill ${candles}`, '60', hasAskedTwice);
    running.kill('SIGINT');
    const { exitCode, stderr } = await running.ended;
    expect([exitCode, stderr]).toEqual([130, expect.stringContaining('INTERRUPTED')]);
    expect(stderr).not.toContain('Unhandled error');
  });

  it('run stops at SIGTERM', async () => {
    const { running } = await cutOff('run --no-serve', '60', (stderr) => stderr.includes('run started'));
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('run stopped'),
    });
  });

  it('a backfill continues when it is back, and loses nothing', async () => {
    const { running, say, mend } = await cutOff(`backfill ${candles}`, '240', hasAskedTwice);
    await mend();
    const { exitCode, stdout } = await running.ended;
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('complete')]);
    expect(await say('gaps')).toBe('no gaps\n');
  });
});
