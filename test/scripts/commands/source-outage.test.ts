import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs } from '../command.ts';
import { openVenues, openWatched } from './watch-list-parts.ts';

const name = 'binance bitcoin/tether m1';
const series = '--exchange binance --base bitcoin --quote tether --interval m1';
const days = '--from 2024-01-01 --to 2024-01-03';

it(
  'status, gaps, why and plan begin with an outage of the source, until it answers',
  async () => {
    const { begin, say, json, simulator } = await openWatched();
    await say(`track candles ${series} ${days}`);
    expect(await say('gaps')).toContain('awaits a request');
    expect(await json('gaps')).toMatchObject({ sourceOutage: null });
    await simulator.close();

    const running = begin('run --no-serve');
    const outage = /^the source is unreachable since 20\d\d-[^;]+: [^;]*ECONNREFUSED[^;]*; retr/;
    await waitFor('the outage', async () => outage.test(await say('status')));
    expect(await say('plan')).toMatch(outage);
    for (const words of ['gaps', `why ${name}`]) {
      const text = await say(words);
      expect(text).toMatch(outage);
      expect(text).not.toContain('awaits a request');
      expect(text).toMatch(/waits until the source answers|unreachable/);
    }
    expect(await json('status')).toMatchObject({ sourceOutage: { kind: 'unreachable' } });

    const { port } = new URL(simulator.url);
    const again = await startSimulator({ perMinute: null, port: Number(port) });
    onTestFinished(() => again.close());
    await waitFor('its end', async () =>
      /^(up to date|catching up|2 windows left)/.test(await say('status')),
    );
    expect(await say('gaps')).not.toContain('unreachable');
    running.kill('SIGTERM');
    await running.ended;
  },
  processesMs,
);

it('gaps and why state no outage as the reason of a series that another source gives', async () => {
  const { say, run, list } = await openVenues(['binance']);
  list({}, "  away: { profile: market-data-service, url: 'http://127.0.0.1:1/v2' }\n");
  await say(`track candles --source binance --symbol ETH/USDT --interval m1 ${days}`);
  expect((await run(`backfill candles --source away ${series} ${days}`)).stderr).toContain(
    'SOURCE_UNREACHABLE',
  );
  const gaps = await say('gaps');
  expect(gaps).toMatch(/^away is unreachable since /);
  expect(gaps).toMatch(/binance ETH\/USDT m1 .* awaits a request$/m);
  expect(gaps).not.toMatch(/bitcoin\/tether m1 .* awaits a request$/m);
  expect(await say('why binance ETH/USDT m1')).not.toContain('unreachable');
  expect(await say(`why ${name}`)).toMatch(/^away is unreachable since /);
});
