import { expect, it } from 'vitest';
import { minuteMs } from '../../../model/intervals.ts';
import { documents } from '../../../scripts/output/documents.ts';
import type { RunningVenueSimulator } from '../../../simulator/venues/start.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs } from '../command.ts';
import { openVenues } from './watch-list-parts.ts';

const few = { WORKER_CONCURRENCY: '4' };

async function open(options: Parameters<typeof openVenues>[1] = {}) {
  const opened = await openVenues(['binance', 'bybit'], options);
  const { json, say, query } = opened;
  /** Two days of minutes: at least three requests to either. */
  const tracking = (source: string) =>
    `track candles --source ${source} --symbol BTC/USDT --interval m1 --from 2024-03-01 --to 2024-03-03`;
  return {
    ...{ ...opened, tracking },
    track: (source: string) => say(tracking(source)),
    async sources() {
      const { sources } = documents.sources.parse(await json('sources'));
      return new Map(sources.map((one) => [one.name, one]));
    },
    async missing(source: string): Promise<number> {
      const [row] = await query(
        `select extract(epoch from upper(tracked) - lower(tracked))::int - coalesce((
           select sum(extract(epoch from upper(r) - lower(r))) from unnest(covered) r), 0)::int as seconds
         from tidemark.series where exchange_id = $1`,
        [source],
      );
      return row?.seconds;
    },
  };
}

function candleTimes(simulator: RunningVenueSimulator): number[] {
  return simulator.requests().recent.flatMap(({ url, atMs }) => (/kline/.test(url) ? [atMs] : []));
}

it('shows each source with its limits, use and state', async () => {
  const { say, sources, list } = await open();
  list({ bybit: ', budget: 1200' });
  const before = await sources();
  expect([...before.keys()]).toEqual(expect.arrayContaining(['binance', 'bybit', 'kraken', 'coinbase', 'okx']));
  expect(before.get('binance')).toMatchObject({
    ...{ requestsPerMinute: 3000, limits: [{ unit: 'weight', amount: 6000, seconds: 60 }] },
    ...{ series: 0, outage: null },
  });
  // What the watch list allows of it.
  expect(before.get('bybit')).toMatchObject({ requestsPerMinute: 1200 });
  expect(await say('sources')).toMatch(/^binance +binance +0 +0 of 3,000\/min/m);
});

it('lists the markets of a source with one request a day, and not while the source bans it', async () => {
  const { fails, json, say, sources, venues, list } = await open();
  const { markets } = documents.markets.parse(await json('markets --source binance --search btc/u'));
  expect(markets).toContainEqual(expect.objectContaining({ symbol: 'BTCUSDT', base: 'BTC', quote: 'USDT' }));
  expect(markets.every(({ symbol }) => symbol.startsWith('BTCU'))).toBe(true);
  expect(await say('markets --source binance --search BTCUSDT')).toMatch(
    /^BTC\/USDT +BTCUSDT +spot +yes\n1 market of \d+$/m,
  );
  expect(venues.binance.requests().total).toBe(1);

  venues.bybit.setFaults({ banMs: 600_000 });
  await fails('markets --source bybit', 4, 'SOURCE_REFUSED');
  expect((await sources()).get('bybit')?.pausedSeconds).toBeGreaterThan(300);
  await fails('markets --source bybit', 4, /SOURCE_REFUSED: .*bybit accepts no request before/);
  expect(venues.bybit.requests().total).toBe(1);

  const without = venues.bybit.url.replace('http:', 'https:');
  list({}, `  kraken: { url: '${without}' }\n  okx: { url: 'http://127.0.0.1:1' }\n`);
  const noTls = /SOURCE_UNUSABLE: kraken is answering unusably: .*not speak TLS.* http:.*; check its url/;
  await fails('markets --source kraken', 4, noTls);
  await fails('markets --source okx', 4, /SOURCE_UNREACHABLE: okx: .*ECONNREFUSED.*; check the network/);
});

it(
  'a banned source stops no other one, and a running process fetches a source that is tracked later',
  async () => {
    const { begin, say, venues, track, sources, missing } = await open();
    await track('binance');
    venues.binance.setFaults({ banMs: 600_000 });
    const running = begin('run --no-serve', few);
    await waitFor('the ban', async () => ((await sources()).get('binance')?.pausedSeconds ?? 0) > 0);
    await track('bybit');
    await waitFor('the other source to be complete', async () => (await missing('bybit')) === 0);
    expect(candleTimes(venues.bybit).length).toBeGreaterThanOrEqual(2);
    expect(await missing('binance')).toBe(2 * 86_400);
    // No more than the spacing of its requests.
    expect((await sources()).get('bybit')?.pausedSeconds).toBeLessThan(1);
    const held = /^.*binance.* accepts no request until 20/m;
    expect(await say('sources')).toMatch(held);
    expect(await say('status')).toMatch(/^source binance: .* accepts no request until 20/m);
    // One, or those that were under way when the first was refused.
    const during = candleTimes(venues.binance).length;
    expect(during).toBeGreaterThan(0);
    expect(during).toBeLessThanOrEqual(4);
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ exitCode: 0 });
    expect(candleTimes(venues.binance)).toHaveLength(during);
  },
  processesMs,
);

it(
  'sends nothing for the rest of a minute that others have used up',
  async () => {
    // A minute that does not end: its weight stays used.
    const nowMs = Date.UTC(2024, 5, 1);
    const { begin, venues, track, sources } = await open({ clock: clockAt(() => nowMs) });
    await track('binance');
    // Another program at the same address leaves as much as the requests of a worker under way take, and two more.
    const left = 2 * (4 + 1) + 4;
    for (const [path, cost] of [
      ['exchangeInfo', 20],
      ['klines?symbol=BTCUSDT&interval=1d&limit=1', 2],
    ] as const)
      for (let used = 0; used + cost <= 6000 - left; ) {
        const response = await fetch(`${venues.binance.url}/api/v3/${path}`);
        await response.arrayBuffer();
        used = Number(response.headers.get('x-mbx-used-weight-1m'));
      }
    const before = candleTimes(venues.binance).length;
    const minute = () => Math.floor(Date.now() / minuteMs);
    const begun = minute();
    const running = begin('run --no-serve', few);
    await waitFor('a paused source', async () => ((await sources()).get('binance')?.pausedSeconds ?? 0) > 0);
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ exitCode: 0 });
    expect(candleTimes(venues.binance).length).toBeGreaterThan(before);
    // Its minute is the real one, and may end.
    if (minute() === begun) expect(venues.binance.requests().refused).toBe(0);
  },
  processesMs,
);

it('a source without its key stops only commands that ask it', async () => {
  const { say, fails, list, venues, sources, track, tracking } = await open();
  for (const [key, problem] of [
    ['key-variable: NO_SUCH_KEY', 'no key: NO_SUCH_KEY is not set'],
    ['key-file: /no/such/file', 'no key: /no/such/file is empty or cannot be read'],
  ]) {
    list({ binance: `, ${key}` });
    expect((await sources()).get('binance')).toMatchObject({ problem });
    expect(await say('sources')).toContain(problem);
    await fails(tracking('binance'), 2, `the source binance has ${problem}`);
  }
  await track('bybit');
  expect(venues.binance.requests().total).toBe(0);
});

it('waits for a refusal that ends by itself, where a command needs the list of markets, unless Ctrl-C ends it', async () => {
  const { begin, run, tracking, venues } = await open();
  venues.bybit.setFaults({ banMs: 600_000 });
  const banned = begin(tracking('bybit').replace('track', 'backfill'));
  await waitFor('the reason', () => /until .*: bybit refuses requests: /.test(banned.stderr()));
  banned.kill('SIGINT');
  expect(await banned.ended).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('INTERRUPTED') });
  venues.binance.setFaults({ rateLimitRate: 1, rateLimitBurst: 1, rateLimitResetMs: 500 });
  const ended = run(tracking('binance'));
  await waitFor('the refusal', () => venues.binance.requests().total === 1);
  venues.binance.setFaults({});
  const stderr = expect.stringMatching(/refuses requests; the queue/);
  expect(await ended).toMatchObject({ exitCode: 0, stderr });
  expect(venues.binance.requests().total).toBe(2);
});

it('ends a command whose key is refused, and says which', async () => {
  const { fails, list, say, venues } = await openVenues(['coincap-v3']);
  list({ 'coincap-v3': ', key-variable: COINCAP_KEY' });
  const env = { COINCAP_KEY: 'a-key' };
  const what = 'history --source coincap-v3 --asset bitcoin --interval h1 --from 2024-03-01 --to';
  await say(`backfill ${what} 2024-03-03`, env);
  venues['coincap-v3'].setFaults({ banMs: 600_000, banForm: 'payment' });
  for (const words of ['verify --all', `backfill ${what} 2024-03-05`])
    await fails(words, 4, /SOURCE_REFUSED: .*check the key of coincap-v3/, env);
});
