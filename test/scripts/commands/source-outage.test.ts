import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { market, processesMs, start, tidemark } from '../command.ts';

const name = ['binance', 'bitcoin/tether', 'm1'];
const series = [...market, '--interval', 'm1'];

it(
  'status, gaps, why and plan begin with an outage of the source, until it answers',
  async () => {
    const { url, drop } = await createMigratedDatabase();
    onTestFinished(drop);
    const simulator = await startSimulator({ perMinute: null });
    const { port } = new URL(simulator.url);
    const env = {
      DATABASE_URL: url,
      SOURCE_URL: simulator.url,
      SOURCE_REQUESTS_PER_MINUTE: '6000',
      RATES_SECONDS: '0',
    };
    const say = async (...words: string[]) => {
      const ended = await tidemark(words, env);
      expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
      return ended.stdout;
    };
    await say('track', 'candles', ...series, '--from', '2024-01-01', '--to', '2024-01-03');
    expect(await say('gaps')).toContain('awaits a request');
    expect(JSON.parse(await say('gaps', '--json'))).toMatchObject({ sourceOutage: null });
    await simulator.close();

    const process = start(['run', '--no-serve'], env);
    const outage = /^the source is unreachable since 20\d\d-[^;]+: [^;]*ECONNREFUSED[^;]*; retr/;
    await waitFor('the outage', async () => outage.test(await say('status')));
    expect(await say('plan')).toMatch(outage);
    for (const words of [['gaps'], ['why', ...name]]) {
      const text = await say(...words);
      expect(text).toMatch(outage);
      expect(text).not.toContain('awaits a request');
      expect(text).toMatch(/waits until the source answers|unreachable/);
    }
    expect(JSON.parse(await say('status', '--json')).sourceOutage).toMatchObject({ kind: 'unreachable' });
    const watching = start(['status', '--watch'], env);
    await waitFor('a line', () => watching.stdout().includes('\n'));
    watching.kill('SIGINT');
    expect((await watching.ended).stdout).toMatch(/Z the source is unreachable since .*, covered/);

    const again = await startSimulator({ perMinute: null, port: Number(port) });
    onTestFinished(() => again.close());
    await waitFor('its end', async () =>
      /^(up to date|catching up|2 windows left)/.test(await say('status')),
    );
    expect(await say('gaps')).not.toContain('unreachable');
    process.kill('SIGTERM');
    await process.ended;
  },
  processesMs,
);
