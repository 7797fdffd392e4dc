/** Redis vanishes while a command works, and comes back or not. */

import { expect, inject, it } from 'vitest';
import { decimalText } from '../../contract/decimal.ts';
import { hourMs, minuteMs } from '../../contract/intervals.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import { proxyTo } from '../queue/cuttable-proxy.ts';
import { market, start, tidemark } from './command.ts';
import { openWatched } from './commands/watch-list-parts.ts';

const slow = { SOURCE_REQUESTS_PER_MINUTE: '60' };
const days = ['--from', '2024-03-01', '--to', '2024-03-16'];
const backfill = ['backfill', 'candles', ...market, '--interval', 'm1', ...days];

async function environment() {
  const { env: own, url, simulator, say } = await openWatched();
  const proxy = await proxyTo(inject('redisUrl') ?? '');
  // A namespace of the test's own: Redis is shared by all of them.
  const queue = { REDIS_URL: proxy.url, QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}` };
  await say('migrate', queue);
  return { env: { ...own, ...queue, LOG_LEVEL: 'info' }, simulator, proxy };
}

/** Changes a minute of every day. */
function reviseDays({ revise }: RunningSimulator): void {
  for (let place = 0; place < 15; place += 1) {
    const timeMs = Date.UTC(2024, 2, 1 + place, 3) + 7 * minuteMs;
    const series = {
      dataset: 'candles',
      exchange: 'binance',
      baseId: 'bitcoin',
      quoteId: 'tether',
      interval: 'm1',
    } as const;
    revise({ series, timeMs, fromMs: timeMs + hourMs, values: { volume: decimalText('7.25') } });
  }
}

describeNeeding('redis', 'while Redis is unreachable', () => {
  it.each([
    ['backfill', backfill],
    ['repair', ['repair']],
  ])('%s names the cause, and ends at Ctrl-C', async (name, words) => {
    const { env, simulator, proxy } = await environment();
    if (name !== 'backfill') {
      expect(await tidemark(backfill, env)).toMatchObject({ exitCode: 0 });
      reviseDays(simulator);
    }
    if (name === 'repair') expect(await tidemark(['verify', '--all'], env)).toMatchObject({ exitCode: 7 });
    const before = simulator.requests().total;
    const command = start(words, { ...env, ...slow });
    await waitFor('two requests', () => simulator.requests().total >= before + 2);
    await proxy.cut();
    await waitFor('the loss', () =>
      /QUEUE_UNREACHABLE: .*ECONNREFUSED .*retrying until/.test(command.stderr()),
    );
    command.kill('SIGINT');
    const { exitCode, stderr } = await command.ended;
    expect(exitCode).toBe(130);
    expect(stderr).toContain('INTERRUPTED');
    expect(stderr).not.toContain('Unhandled error');
  });

  it('run stops at SIGTERM', async () => {
    const { env, proxy } = await environment();
    expect(await tidemark(['track', ...backfill.slice(1)], env)).toMatchObject({ exitCode: 0 });
    const process = start(['run', '--no-serve'], { ...env, ...slow });
    await waitFor('its start', () => process.stderr().includes('run started'));
    await proxy.cut();
    await waitFor('the loss', () => process.stderr().includes('ECONNREFUSED'));
    process.kill('SIGTERM');
    const { exitCode, stderr } = await process.ended;
    expect(exitCode).toBe(0);
    expect(stderr).toContain('run stopped');
  });

  it('a backfill continues when it is back, and loses nothing', async () => {
    const { env, simulator, proxy } = await environment();
    const command = start(backfill, { ...env, SOURCE_REQUESTS_PER_MINUTE: '240' });
    await waitFor('two requests', () => simulator.requests().total >= 2);
    await proxy.cut();
    await waitFor('the loss', () => /QUEUE_UNREACHABLE: .*retrying until/.test(command.stderr()));
    await proxy.mend();
    const { exitCode, stdout } = await command.ended;
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('complete')]);
    expect((await tidemark(['gaps'], env)).stdout).toBe('no gaps\n');
  });
});
