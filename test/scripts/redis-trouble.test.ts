/** Redis vanishes while a command works, and comes back or not. */

import { expect, inject, it } from 'vitest';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import { proxyTo } from '../queue/cuttable-proxy.ts';
import { openWatched } from './commands/watch-list-parts.ts';

const candles =
  'candles --exchange binance --base bitcoin --quote tether --interval m1 --from 2024-03-01 --to 2024-03-16';

/** Begins a backfill whose requests are spaced, and cuts it off from Redis. */
async function cutOff(perMinute: string) {
  const { begin, say, url, simulator } = await openWatched();
  const proxy = await proxyTo(inject('redisUrl') ?? '');
  // A namespace of the test's own: Redis is shared by all of them.
  const queue = { REDIS_URL: proxy.url, QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}` };
  await say('migrate', queue);
  await say(`track ${candles}`, queue);
  const running = begin(`backfill ${candles}`, { ...queue, LOG_LEVEL: 'info', SOURCE_REQUESTS_PER_MINUTE: perMinute });
  await waitFor('it to be under way', () => simulator.requests().total >= 2);
  await proxy.cut();
  const loss = /QUEUE_UNREACHABLE: .*ECONNREFUSED .*retrying until/;
  await waitFor('the loss', () => loss.test(running.stderr()));
  return { running, say: (command: string) => say(command, queue), mend: () => proxy.mend() };
}

describeNeeding('redis', 'while Redis is unreachable', () => {
  it('backfill names the cause, and ends at Ctrl-C', async () => {
    const { running } = await cutOff('60');
    running.kill('SIGINT');
    const { exitCode, stderr } = await running.ended;
    expect([exitCode, stderr]).toEqual([130, expect.stringContaining('INTERRUPTED')]);
    expect(stderr).not.toContain('Unhandled error');
  });

  it('a backfill continues when it is back, and loses nothing', async () => {
    const { running, say, mend } = await cutOff('240');
    await mend();
    const { exitCode, stdout } = await running.ended;
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('complete')]);
    expect(await say('gaps')).toBe('no gaps\n');
  });

  it('status --watch says so, and shows the database as before', async () => {
    const { begin, say, url } = await openWatched();
    const proxy = await proxyTo(inject('redisUrl') ?? '');
    const queue = { REDIS_URL: proxy.url, QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}` };
    await say('migrate', queue);
    const running = begin('status --watch --every 1s', queue);
    await waitFor('a view', () => running.stdout().includes('queue (redis)'));
    await proxy.cut();
    const away = /the queue does not answer: .*; nothing is requested[\s\S]*database: PostgreSQL/;
    await waitFor('a view without the queue', () => away.test(running.stdout()));
    await say(`track ${candles}`, { ...queue, REDIS_URL: inject('redisUrl') ?? '' });
    await waitFor('the new series', () => running.stdout().includes('binance bitcoin/tether m1'));
    await proxy.mend();
    await waitFor('the queue', () =>
      /queue \(redis\)/.test(running.stdout().slice(running.stdout().lastIndexOf('Z\n'))),
    );
    running.kill('SIGINT');
    await running.ended;
  });

  it('commands that show what is stored show it, without what only the queue knows', async () => {
    const { say, run } = await openWatched();
    await say(`backfill ${candles.replace('m1', 'h1').replace('03-16', '03-02')}`);
    await say(`track ${candles}`);
    const queue = { REDIS_URL: 'redis://127.0.0.1:1' };
    const away = 'the queue does not answer: Redis at 127.0.0.1:1: ';
    const status = await run('status', queue);
    expect(status).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('QUEUE_UNREACHABLE') });
    expect(status.stdout).toMatch(/^the queue does not answer: .*\n(?:also: .*\n)*backfill: 15 of 16 requests to go/);
    expect(status.stdout).toContain('binance bitcoin/tether m1');
    expect(JSON.parse((await run('status --json', queue)).stdout)).toMatchObject({
      ...{ headline: { kind: 'queue_away' }, queue: null, error: { code: 'QUEUE_UNREACHABLE' } },
      series: [{ coveredSeconds: 0 }, { missingSeconds: 0 }],
    });
    const shown = async (words: string) => {
      const ended = await run(words, queue);
      expect(ended).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(away) });
      return ended.stdout;
    };
    expect(await shown('sources')).toMatch(/default .* answers, last /);
    expect(JSON.parse(await shown('sources --json')).sources[0]).toMatchObject({ workers: null, pausedSeconds: null });
    expect(await shown('backfills')).toContain('done');
    expect(await run('gaps', queue)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('m1') });
    const why = await run('why binance bitcoin/tether m1', queue);
    expect(why).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`Next: ${away}`) });
  });
});
