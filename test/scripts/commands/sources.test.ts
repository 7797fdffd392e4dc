import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { documents } from '../../../scripts/output/documents.ts';
import type { RunningVenueSimulator } from '../../../simulator/venues/start.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs } from '../command.ts';
import { openVenues } from './watch-list-parts.ts';

const few = { WORKER_CONCURRENCY: '4' };
const away = 'http://127.0.0.1:1';

async function open(options: Parameters<typeof openVenues>[1] = {}) {
  const opened = await openVenues(['binance', 'bybit'], options);
  const { json, run, query } = opened;
  return {
    ...opened,
    /** Two days of minutes: at least three requests to either. */
    track: (source: string) =>
      run(
        `track candles --source ${source} --symbol BTC/USDT --interval m1 --from 2024-03-01 --to 2024-03-03`,
      ),
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

/** When it was asked for candles. */
function candleTimes(simulator: RunningVenueSimulator): number[] {
  return simulator.requests().recent.flatMap(({ url, atMs }) => (/kline/.test(url) ? [atMs] : []));
}

it('shows each source with its limits, use and state', async () => {
  const { say, sources, list } = await open();
  list({ bybit: ', budget: 1200' });
  const before = await sources();
  expect([...before.keys()]).toEqual(
    expect.arrayContaining(['binance', 'bybit', 'kraken', 'coinbase', 'okx']),
  );
  expect(before.get('binance')).toMatchObject({
    ...{ requestsPerMinute: 3000, limits: [{ unit: 'weight', amount: 6000, seconds: 60 }] },
    ...{ series: 0, outage: null },
  });
  // What the watch list allows of it.
  expect(before.get('bybit')).toMatchObject({ requestsPerMinute: 1200 });
  expect(await say('sources')).toMatch(/^binance +binance +0 +0 of 3,000\/min/m);
});

it('lists the markets of a source with one request a day, and not while the source bans it', async () => {
  const { run, json, say, sources, venues } = await open();
  const { markets } = documents.markets.parse(await json('markets --source binance --search btc/u'));
  expect(markets).toContainEqual(expect.objectContaining({ symbol: 'BTCUSDT', base: 'BTC', quote: 'USDT' }));
  expect(markets.every(({ symbol }) => symbol.startsWith('BTCU'))).toBe(true);
  expect(await say('markets --source binance --search BTCUSDT')).toMatch(
    /^BTC\/USDT +BTCUSDT +yes\n1 market of \d+$/m,
  );
  expect(venues.binance.requests().total).toBe(1);

  venues.bybit.setFaults({ banMs: 600_000 });
  const refused = { exitCode: 4, stderr: expect.stringContaining('SOURCE_REFUSED') };
  expect(await run('markets --source bybit')).toMatchObject(refused);
  expect((await sources()).get('bybit')?.pausedSeconds).toBeGreaterThan(300);
  const again = await run('markets --source bybit');
  expect(again).toMatchObject(refused);
  expect(again.stderr).toContain('bybit accepts no request before');
  expect(venues.bybit.requests().total).toBe(1);
});

it('applies the rest of a watch list while a source cannot list its markets, and uses the list that it gave before', async () => {
  const { run, say, query, venues, write } = await open();
  const configure = (binanceUrl: string) =>
    write(
      `sources:\n  binance: { url: '${binanceUrl}' }\n  bybit: { url: '${venues.bybit.url}' }\n` +
        'candles:\n  - { source: binance, symbol: BTC/USDT, interval: h1, from: 2d }\n' +
        '  - { source: bybit, symbol: BTC/USDT, interval: h1, from: 2d }\n',
    );
  const exchanges = async () =>
    (await query('select exchange_id as id from tidemark.series order by 1')).map(({ id }) => id);
  configure(away);
  const first = await run('apply');
  expect(first.stdout).toContain('binance is left out until its list of markets is read');
  expect(first.stdout).toMatch(/\napplied\n$/);
  expect(first).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('SOURCE_UNREACHABLE') });
  expect(await exchanges()).toEqual(['bybit']);

  configure(venues.binance.url);
  await say('apply');
  expect(await exchanges()).toEqual(['binance', 'bybit']);

  configure(away);
  await query("update tidemark.source_symbols set seen_at = seen_at - interval '2 days'");
  const again = await run('apply');
  expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^nothing to do/) });
  expect(again.stderr).toMatch(/^the list of markets of binance cannot be read: that of [^\n]+ counts\n$/);
});

it(
  'a banned source stops no other one, and a running process fetches a source that is tracked later',
  async () => {
    const { begin, venues, track, sources, missing } = await open();
    expect(await track('binance')).toMatchObject({ exitCode: 0 });
    venues.binance.setFaults({ banMs: 600_000 });
    const running = begin('run --no-serve', few);
    await waitFor('the ban', async () => ((await sources()).get('binance')?.pausedSeconds ?? 0) > 0);
    expect(await track('bybit')).toMatchObject({ exitCode: 0 });
    await waitFor('the other source to be complete', async () => (await missing('bybit')) === 0);
    expect(candleTimes(venues.bybit).length).toBeGreaterThanOrEqual(2);
    expect(await missing('binance')).toBe(2 * 86_400);
    expect((await sources()).get('bybit')?.pausedSeconds).toBe(0);
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

it('a banned source is asked again when its ban ends', async () => {
  // The ban ends at the venue when the test lets it.
  let nowMs = Date.UTC(2024, 5, 1);
  const { run, track, venues, missing } = await open({ clock: clockAt(() => nowMs) });
  expect(await track('binance')).toMatchObject({ exitCode: 0 });
  venues.binance.setFaults({ banMs: 2000 });
  const words = '--exchange binance --base BTC --quote USDT --interval m1 --from 2024-03-01 --to 2024-03-03';
  const filling = run(`backfill candles ${words}`, few);
  await waitFor('a refusal', () => candleTimes(venues.binance).length > 0);
  nowMs += 2000;
  expect(await filling).toMatchObject({ exitCode: 0 });
  expect(await missing('binance')).toBe(0);
  // Three, and those that were refused: one, or all that were under way.
  expect(candleTimes(venues.binance).length).toBeGreaterThan(3);
});

it(
  'sends nothing for the rest of a minute that others have used up',
  async () => {
    // A minute that does not end: its weight stays used.
    const nowMs = Date.UTC(2024, 5, 1);
    const { begin, venues, track, sources } = await open({ clock: clockAt(() => nowMs) });
    expect(await track('binance')).toMatchObject({ exitCode: 0 });
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
    const running = begin('run --no-serve', few);
    await waitFor('a pause', async () => ((await sources()).get('binance')?.pausedSeconds ?? 0) > 0);
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ exitCode: 0 });
    expect(candleTimes(venues.binance).length).toBeGreaterThan(before);
    expect(venues.binance.requests().refused).toBe(0);
  },
  processesMs,
);

it('a worker serves a source as soon as its key is there, and the others meanwhile', async () => {
  const { begin, venues, list, track } = await open();
  for (const source of ['binance', 'bybit']) expect(await track(source)).toMatchObject({ exitCode: 0 });
  const key = join(mkdtempSync(join(tmpdir(), 'tidemark-key-')), 'key');
  list({ binance: `, key-file: ${key}` });
  const before = candleTimes(venues.binance).length;
  const running = begin('run', { LOG_FORMAT: 'json' });
  await waitFor('requests to the other one', () => candleTimes(venues.bybit).length >= 2);
  expect(candleTimes(venues.binance)).toHaveLength(before);
  writeFileSync(key, 'key');
  await waitFor('requests to it', () => candleTimes(venues.binance).length > before);
  running.kill('SIGTERM');
  const { stdout, stderr } = await running.ended;
  expect(`${stdout}${stderr}`.match(/no worker can be started for a source; retrying/g)).toHaveLength(1);
});

it('a source without its key stops only commands that ask it', async () => {
  const { say, list, venues, sources, track } = await open();
  for (const [key, problem] of [
    ['key-variable: NO_SUCH_KEY', 'no key: NO_SUCH_KEY is not set'],
    ['key-file: /no/such/file', 'no key: /no/such/file cannot be read'],
  ]) {
    list({ binance: `, ${key}` });
    expect((await sources()).get('binance')).toMatchObject({ problem });
    expect(await say('sources')).toContain(problem);
    expect(await track('binance')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`the source binance has ${problem}`),
    });
  }
  expect(await track('bybit')).toMatchObject({ exitCode: 0 });
  expect(venues.binance.requests().total).toBe(0);
});

it('refuses a wrong description of a source', async () => {
  const { run, write } = await open();
  for (const [text, words] of [
    ['sources:\n  mine: { url: "http://127.0.0.1:1" }\n', 'needs a profile: one of'],
    ['sources:\n  mine: { profile: coincap-v4 }\n', 'needs a profile: one of'],
    ['sources:\n  mine: { profile: market-data-service }\n', 'needs a url'],
    ['sources:\n  binance: { budget: lots }\n', ':2:'],
    ['sources:\n  binance: { url: "http://me:hush@127.0.0.1:1" }\n', 'without a name, a password or a query'],
    ['sources: [binance]\n', 'must be a map of sources'],
    ['sources:\n  "Binance!": {}\n', 'is not lower-case letters, digits and hyphens'],
  ]) {
    write(text ?? '');
    const ended = await run('sources');
    expect(ended).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^tidemark: BAD_WATCH_LIST: .+/),
    });
    expect(ended.stderr).toContain(words);
  }
});
