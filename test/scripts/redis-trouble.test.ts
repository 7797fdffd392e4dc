/** Redis vanishes while a command works, and comes back or not. */

import { expect, inject, it, onTestFinished } from 'vitest';
import { decimalText } from '../../contract/decimal.ts';
import { hourMs, minuteMs } from '../../contract/intervals.ts';
import { migrateQueueBackend } from '../../queue/backend.ts';
import { type RunningSimulator, startSimulator } from '../../simulator/start.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { proxyTo } from '../queue/cuttable-proxy.ts';
import { market, start, tidemark } from './command.ts';

const slow = { SOURCE_REQUESTS_PER_MINUTE: '60' };
const backfill = [
  'backfill',
  'candles',
  ...market,
  '--interval',
  'm1',
  '--from',
  '2024-03-01',
  '--to',
  '2024-03-16',
];

async function environment() {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const proxy = await proxyTo(inject('redisUrl') ?? '');
  const env: Record<string, string> = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_REQUESTS_PER_MINUTE: '0',
    PLANNING_TICK_MS: '200',
    QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}`,
    REDIS_URL: proxy.url,
    LOG_LEVEL: 'info',
  };
  await migrateQueueBackend(
    { redisUrl: proxy.url, databaseUrl: url, namespace: env.QUEUE_NAMESPACE ?? '' },
    'up',
  );
  return { env, simulator, proxy };
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
    ['verify', ['verify', '--all']],
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

  it.each([['run'], ['worker'], ['scheduler']])('%s stops at SIGTERM', async (name) => {
    const { env, proxy } = await environment();
    expect(await tidemark(['track', ...backfill.slice(1)], env)).toMatchObject({ exitCode: 0 });
    const process = start([name], { ...env, ...slow });
    await waitFor('its start', () => process.stderr().includes(`${name} started`));
    await proxy.cut();
    await waitFor('the loss', () => process.stderr().includes('ECONNREFUSED'));
    process.kill('SIGTERM');
    const { exitCode, stderr } = await process.ended;
    expect(exitCode).toBe(0);
    expect(stderr).toContain(`${name} stopped`);
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
