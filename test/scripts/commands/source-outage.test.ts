import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { openWatched } from './watch-list-parts.ts';

const name = 'binance bitcoin/tether m1';
const series = '--exchange binance --base bitcoin --quote tether --interval m1';
const days = '--from 2024-01-01 --to 2024-01-03';

it('status, gaps, why and plan state an outage of the source, until it answers', async () => {
  const { say, fails, json, simulator } = await openWatched();
  await say(`track candles ${series} ${days}`);
  expect(await say('gaps')).toContain('awaits a request');
  expect(await json('gaps')).toMatchObject({ sourceOutage: null });
  await simulator.close();

  const backfill = `backfill candles ${series} ${days}`;
  await fails(backfill, 4, 'SOURCE_UNREACHABLE');
  // Without a worker this comes first in the status.
  const outage =
    /^(also: )?the source is unreachable since 20\d\d-[^;]+: [^;]*ECONNREFUSED[^;]*; (last tried|tried again)/m;
  for (const words of ['status', 'plan', 'gaps', `why ${name}`]) expect(await say(words)).toMatch(outage);
  for (const words of ['gaps', `why ${name}`]) {
    const text = await say(words);
    expect(text).not.toContain('awaits a request');
    expect(text).toMatch(/waits until the source answers|unreachable/);
  }
  expect(await json('status')).toMatchObject({ sourceOutage: { kind: 'unreachable' } });

  const { port } = new URL(simulator.url);
  const again = await startSimulator({ perMinute: null, port: Number(port) });
  onTestFinished(() => again.close());
  await say(backfill);
  for (const words of ['status', 'gaps']) expect(await say(words)).not.toContain('unreachable');
});
