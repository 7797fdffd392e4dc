import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { openWatched } from './watch-list-parts.ts';

const name = 'binance bitcoin/tether m1';
const series = '--exchange binance --base bitcoin --quote tether --interval m1';
const queueAway = { REDIS_URL: 'redis://127.0.0.1:1' };
const days = '--from 2024-01-01 --to 2024-01-03';

it('status, gaps, why and plan state an outage of the source, until it answers', async () => {
  const { say, fails, json, simulator } = await openWatched();
  await say(`track candles ${series} ${days}`);
  expect(await say('gaps')).toContain('waits until a worker is connected');
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

it('gaps, why and plan tell of each source that is away, by the names that status has for them', async () => {
  const { say, json, query } = await openWatched();
  for (const base of ['bitcoin', 'ethereum']) await say(`track candles ${series.replace('bitcoin', base)} ${days}`);
  await query(`update tidemark.series_sources set source = 'coinbase', symbol = 'ETHUSDT' where series_id = 2`);
  const fail = (source: string) =>
    query(
      `insert into tidemark.fetches (time, dataset, lane, attempt, verdict, fresh, changed, unchanged, rejected, bytes,
                                     duration_ms, error, source)
       select now() - second * interval '1 second', 'candles', 'backfill', 1, 'timeout', 0, 0, 0, 0, 0, 30000,
              'no complete answer', $1 from generate_series(1, 3) second`,
      [source],
    );
  await fail('default');
  await fail('coinbase');
  const away = (name: string) =>
    new RegExp(`^(also: )?${name} does not answer in time since .*: no complete answer`, 'm');
  for (const words of ['status', 'gaps', 'plan', 'sources']) {
    const text = await say(words);
    for (const name of ['the default source', 'coinbase']) expect(text, words).toMatch(away(name));
  }
  const ofBoth = ['default', 'coinbase'].map((source) => expect.objectContaining({ source, kind: 'timeout' }));
  const { sourceOutage, sourceOutages } = await json<{ sourceOutage: object; sourceOutages: object[] }>('gaps');
  expect(sourceOutages).toEqual(ofBoth);
  expect(sourceOutages[0]).toMatchObject(sourceOutage);
  await say('sources pause coinbase');
  expect(await json('status')).toMatchObject({
    sourceOutage,
    sources: [
      { name: 'default', outage: sourceOutage, paused: null, requestsPerMinute: 6000, workers: 0, pausedMs: 0 },
      { name: 'coinbase', outage: { kind: 'timeout' }, paused: { by: expect.any(String) }, workers: 0, pausedMs: 0 },
    ],
  });
  await say('sources resume coinbase');
  const gaps = await say('gaps');
  for (const [id, name] of [
    [1, 'the default source'],
    [2, 'coinbase'],
  ] as const) {
    const why = await say(`why ${id}`);
    expect(why).toMatch(away(name));
    expect(why).toContain(`: waits until ${name} answers`);
    expect(gaps).toMatch(new RegExp(`^ *${id} .* waits until ${name} answers`, 'm'));
  }
  await query(`
    insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
    values (1, '[2024-01-01Z, 2024-01-02Z)', 'failed', 'HTTP 500', now(), now() + interval '1 hour')`);
  expect(await say('retry 1')).toMatch(/^1 request to the default source, /);
  await say('sources pause default');
  expect(await say('why 1')).toMatch(/^requests to the default source are paused since/m);
});

it('gaps and why tell of the first request that timed out, and when it is asked again', async () => {
  const { say, run, query } = await openWatched();
  await say(`track candles ${series} ${days}`);
  await query(
    `insert into tidemark.fetches (time, dataset, series_id, range, lane, attempt, verdict, fresh, changed, unchanged,
                                   rejected, bytes, duration_ms, error, source)
     select now(), 'candles', 1, '[2024-01-01Z, 2024-01-02Z)', 'backfill', 1, 'timeout', 0, 0, 0, 0, 0, 30000,
            'no complete answer', 'default'`,
  );
  const again = /from 20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)?Z on/.source;
  for (const words of ['gaps', 'why 1']) {
    const text = await say(words);
    expect(text).toMatch(
      new RegExp(`^the last request to the source timed out at .*Z: no complete answer; asked again ${again}$`, 'm'),
    );
    expect(text).toMatch(/2024-01-02.* last request failed: no complete answer \(again once a worker is connected\)/);
    // Whether a worker is connected is not known.
    const { stdout } = await run(words, queueAway);
    expect(stdout).toMatch(new RegExp(`2024-01-02.*failed: no complete answer \\(again ${again}\\)`));
  }
  await say('pause');
  for (const words of ['gaps', 'why 1']) expect(await say(words)).not.toMatch(/the last request/);
});

it('gaps and why say that no worker is connected, where the queue answers and something is left', async () => {
  const { say, run } = await openWatched();
  await say(`track candles ${series} ${days}`);
  expect(await say('gaps')).toMatch(/ waits until a worker is connected$/m);
  const why = await say('why 1');
  expect(why).toMatch(/^no worker is connected\n/);
  expect(why).toContain(': waits until a worker is connected');
  expect(why).toMatch(/^Next: .*, when a worker is connected\.$/m);
  for (const words of ['gaps', 'why 1']) expect((await run(words, queueAway)).stdout).toContain('awaits a request');
  await say(`backfill candles ${series} ${days}`);
  expect(await say('why 1')).not.toMatch(/^no worker/);
});
