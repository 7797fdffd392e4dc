import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { startVenueSimulator } from '../../../simulator/venues/start.ts';
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

it(
  'gaps and why state no outage as the reason of a series that another source gives',
  async () => {
    const { url, drop } = await createMigratedDatabase();
    onTestFinished(drop);
    const simulator = await startVenueSimulator({ profile: 'binance' });
    onTestFinished(() => simulator.close());
    const list = join(mkdtempSync(join(tmpdir(), 'tidemark-outage-')), 'tidemark.yaml');
    writeFileSync(
      list,
      `sources:
  binance: { url: '${simulator.url}' }
  away: { profile: market-data-service, url: 'http://127.0.0.1:1/v2' }
`,
    );
    const env = { DATABASE_URL: url, WATCH_LIST: list };
    const days = ['--interval', 'm1', '--from', '2024-01-01', '--to', '2024-01-03'];
    const own = ['track', 'candles', '--source', 'binance', '--symbol', 'ETH/USDT', ...days];
    expect(await tidemark(own, env)).toMatchObject({ exitCode: 0 });
    const other = ['backfill', 'candles', '--source', 'away', ...market, ...days];
    expect((await tidemark(other, env)).stderr).toContain('SOURCE_UNREACHABLE');

    const gaps = (await tidemark(['gaps'], env)).stdout;
    expect(gaps).toMatch(/^away is unreachable since /);
    expect(gaps).toMatch(/binance ETH\/USDT m1 .* awaits a request$/m);
    expect(gaps).not.toMatch(/bitcoin\/tether m1 .* awaits a request$/m);
    expect((await tidemark(['why', 'binance', 'ETH/USDT', 'm1'], env)).stdout).not.toContain('unreachable');
    expect((await tidemark(['why', ...name], env)).stdout).toMatch(/^away is unreachable since /);
  },
  processesMs,
);
