import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { dayMs, minuteMs } from '../../../contract/intervals.ts';
import { documents } from '../../../scripts/output/documents.ts';
import { type RunningVenueSimulator, startVenueSimulator } from '../../../simulator/venues/start.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { processesMs, start, tidemark } from '../command.ts';

async function open(queue: 'postgres' | 'redis') {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const [binance, bybit] = await Promise.all([
    startVenueSimulator({ profile: 'binance' }),
    startVenueSimulator({ profile: 'bybit' }),
  ]);
  onTestFinished(async () => void (await Promise.all([binance.close(), bybit.close()])));
  const list = join(mkdtempSync(join(tmpdir(), 'tidemark-sources-')), 'tidemark.yaml');
  const write = (text: string) => writeFileSync(list, text);
  write(`sources:\n  binance: { url: '${binance.url}' }\n  bybit: { url: '${bybit.url}', budget: 1200 }\n`);
  const env: Record<string, string> = {
    DATABASE_URL: url,
    WATCH_LIST: list,
    PLANNING_TICK_MS: '200',
    WORKER_CONCURRENCY: '4',
    RATES_SECONDS: '0',
    QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}`,
    ...(queue === 'redis' ? { REDIS_URL: inject('redisUrl') ?? '' } : {}),
  };
  expect((await tidemark(['migrate'], env)).exitCode).toBe(0);
  const track = (source: string, fromMs: number) =>
    tidemark(
      ['track', 'candles', '--source', source, '--symbol', 'BTC/USDT', '--interval', 'm1'].concat(
        '--from',
        new Date(fromMs).toISOString(),
      ),
      env,
    );
  const sources = async () => {
    const { sources: all } = documents.sources.parse(
      JSON.parse((await tidemark(['sources', '--json'], env)).stdout),
    );
    return new Map(all.map((one) => [one.name, one]));
  };
  return { env, binance, bybit, track, sources, write };
}

/** Makes every stored list of markets older than a day. */
async function age({ DATABASE_URL = '' }: Readonly<Record<string, string>>): Promise<void> {
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  await client.query("update tidemark.source_symbols set seen_at = seen_at - interval '2 days'");
  await client.end();
}

function candleTimes(simulator: RunningVenueSimulator): number[] {
  return simulator.requests().recent.flatMap(({ url, atMs }) => (/kline/.test(url) ? [atMs] : []));
}

const minuteOf = (timeMs: number) => Math.floor(timeMs / minuteMs);

function candleRequests(simulator: RunningVenueSimulator): number {
  return candleTimes(simulator).length;
}

function suite(queue: 'postgres' | 'redis') {
  it('shows each source with its limits, use and state', async () => {
    const { env, sources } = await open(queue);
    const before = await sources();
    expect([...before.keys()]).toEqual(
      expect.arrayContaining(['binance', 'bybit', 'kraken', 'coinbase', 'okx']),
    );
    expect(before.get('binance')).toMatchObject({
      requestsPerMinute: 3000,
      limits: [{ unit: 'weight', amount: 6000, seconds: 60 }],
      series: 0,
      outage: null,
    });
    // What the watch list allows of it.
    expect(before.get('bybit')).toMatchObject({ requestsPerMinute: 1200 });
    const text = await tidemark(['sources'], env);
    expect(text.stdout).toMatch(/^binance +binance +0 +0 of 3,000\/min/m);
  });

  it('lists the markets of a source, with one request a day', async () => {
    const { env, binance } = await open(queue);
    const found = await tidemark(['markets', '--source', 'binance', '--search', 'btc/u', '--json'], env);
    const { markets } = documents.markets.parse(JSON.parse(found.stdout));
    expect(markets).toContainEqual(
      expect.objectContaining({ symbol: 'BTCUSDT', base: 'BTC', quote: 'USDT' }),
    );
    expect(markets.every(({ symbol }) => symbol.startsWith('BTCU'))).toBe(true);
    expect((await tidemark(['markets', '--source', 'binance', '--search', 'BTCUSDT'], env)).stdout).toMatch(
      /^BTC\/USDT +BTCUSDT +yes\n1 market of \d+$/m,
    );
    expect(binance.requests().total).toBe(1);
  });

  it('applies the rest of a watch list while a source cannot list its markets, and uses the list that it gave before', async () => {
    const { env, binance, bybit, write } = await open(queue);
    const configured = (binanceUrl: string) =>
      `sources:\n  binance: { url: '${binanceUrl}' }\n  bybit: { url: '${bybit.url}' }\n` +
      'candles:\n' +
      '  - { source: binance, symbol: BTC/USDT, interval: h1, from: 2d }\n' +
      '  - { source: bybit, symbol: BTC/USDT, interval: h1, from: 2d }\n';
    const series = async () =>
      JSON.parse((await tidemark(['status', '--json'], env)).stdout).series.map(
        ({ exchange }: { exchange: string }) => exchange,
      );
    const away = 'http://127.0.0.1:1';
    write(configured(away));
    const first = await tidemark(['apply'], env);
    expect(first.stdout).toContain('binance is left out until its list of markets is read');
    expect(first.stdout).toMatch(/\napplied\n$/);
    expect(first).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('SOURCE_UNREACHABLE') });
    expect(await series()).toEqual(['bybit']);

    write(configured(binance.url));
    expect(await tidemark(['apply'], env)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await series()).toEqual(['binance', 'bybit']);

    write(configured(away));
    await age(env);
    const again = await tidemark(['apply'], env);
    expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^nothing to do/) });
    expect(again.stderr).toMatch(/^the list of markets of binance cannot be read: that of [^\n]+ counts\n$/);
  });

  it('is banned while its list of markets is read, and is not asked again before the ban ends', async () => {
    const { env, binance, sources } = await open(queue);
    binance.setFaults({ banMs: 600_000 });
    const refused = { exitCode: 4, stderr: expect.stringContaining('SOURCE_REFUSED') };
    expect(await tidemark(['markets', '--source', 'binance'], env)).toMatchObject(refused);
    expect((await sources()).get('binance')?.pausedSeconds).toBeGreaterThan(300);
    const again = await tidemark(['markets', '--source', 'binance'], env);
    expect(again).toMatchObject(refused);
    expect(again.stderr).toContain('binance accepts no request before');
    expect(binance.requests().total).toBe(1);
  });

  it(
    'a banned source stops no other one, and is asked again when its ban ends',
    async () => {
      const { env, binance, bybit, track, sources } = await open(queue);
      const fromMs = Date.now() - dayMs;
      for (const source of ['binance', 'bybit'])
        expect(await track(source, fromMs)).toMatchObject({ exitCode: 0 });
      // Longer than the commands below take on a busy machine.
      const banMs = 45_000;
      binance.setFaults({ banMs });
      const bannedUntilMs = Date.now() + banMs;
      const running = start(['run', '--no-serve'], env);
      const missing = async (exchange: string) => {
        const { series } = JSON.parse((await tidemark(['status', '--json'], env)).stdout);
        return series.find((one: { exchange: string }) => one.exchange === exchange).missingSeconds;
      };
      // A minute may have closed since.
      await waitFor('the other source to be complete', async () => (await missing('bybit')) <= 60, {
        withinMs: 60_000,
      });
      expect(await missing('binance')).toBeGreaterThan(dayMs / 1000 - 300);
      expect(candleRequests(bybit)).toBeGreaterThanOrEqual(2);
      expect(candleRequests(binance)).toBeGreaterThan(0);
      expect((await sources()).get('binance')?.pausedSeconds).toBeGreaterThan(0);
      expect((await sources()).get('bybit')?.pausedSeconds).toBeLessThan(1);
      await waitFor('the banned source to be complete', async () => (await missing('binance')) <= 60, {
        withinMs: 90_000,
      });
      // One request during the ban, or those under way when the first was refused.
      const during = candleTimes(binance).filter((atMs) => atMs < bannedUntilMs - 500);
      expect(Math.max(...during) - Math.min(...during)).toBeLessThan(banMs / 2);
      running.kill('SIGTERM');
      expect(await running.ended).toMatchObject({ exitCode: 0 });
    },
    processesMs,
  );

  it(
    'sends nothing for the rest of a minute that others have used up',
    async () => {
      const { env, binance, track, sources } = await open(queue);
      // Twice as many windows as requests that are left below.
      expect(await track('binance', Date.now() - 10 * dayMs)).toMatchObject({ exitCode: 0 });
      const restMs = () => minuteMs - (Date.now() % minuteMs);
      await waitFor('a minute that lasts long enough', () => restMs() > (2 / 3) * minuteMs, {
        withinMs: minuteMs,
      });
      // Another program at the same address leaves as much as the requests of a worker under way take, and two more.
      const left = 2 * (Number(env.WORKER_CONCURRENCY) + 1) + 4;
      const costs: [string, number][] = [
        ['exchangeInfo', 20],
        ['klines?symbol=BTCUSDT&interval=1d&limit=1', 2],
      ];
      let used = 0;
      for (const [path, cost] of costs)
        while (used + cost <= 6000 - left) {
          const response = await fetch(`${binance.url}/api/v3/${path}`);
          await response.arrayBuffer();
          used = Number(response.headers.get('x-mbx-used-weight-1m'));
        }
      const begunMs = Date.now();
      const running = start(['run', '--no-serve'], env);
      await waitFor('a pause', async () => ((await sources()).get('binance')?.pausedSeconds ?? 0) > 0, {
        withinMs: minuteMs,
      });
      const own = () => candleTimes(binance).filter((atMs) => atMs >= begunMs);
      await waitFor('requests of the next minute', () => new Set(own().map(minuteOf)).size === 2, {
        withinMs: 2 * minuteMs,
      });
      const { refused } = binance.requests();
      running.kill('SIGTERM');
      expect(await running.ended).toMatchObject({ exitCode: 0 });
      expect(refused).toBe(0);
      const ofTheMinute = own().filter((atMs) => minuteOf(atMs) === minuteOf(begunMs));
      expect(ofTheMinute.length).toBeLessThanOrEqual(left / 2);
    },
    processesMs,
  );

  it('a running process fetches a source that is tracked later', async () => {
    const { env, bybit, track } = await open(queue);
    expect(await track('binance', Date.now() - dayMs)).toMatchObject({ exitCode: 0 });
    const running = start(['run', '--no-serve'], env);
    await waitFor(
      'its start',
      () => running.stdout().includes('run started') || running.stderr().includes('run started'),
    );
    expect(await track('bybit', Date.now() - dayMs)).toMatchObject({ exitCode: 0 });
    await waitFor('requests to it', () => candleRequests(bybit) >= 2, { withinMs: 60_000 });
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ exitCode: 0 });
  });

  it('a worker serves a source as soon as its key is there, and the others meanwhile', async () => {
    const { env, bybit, binance, write, track } = await open(queue);
    for (const source of ['binance', 'bybit'])
      expect(await track(source, Date.now() - dayMs)).toMatchObject({ exitCode: 0 });
    const key = join(mkdtempSync(join(tmpdir(), 'tidemark-key-')), 'key');
    write(
      `sources:\n  binance: { url: '${binance.url}', key-file: ${key} }\n  bybit: { url: '${bybit.url}' }\n`,
    );
    const before = candleRequests(binance);
    const running = start(['run'], { ...env, LOG_FORMAT: 'json' });
    await waitFor('requests to the other one', () => candleRequests(bybit) >= 2, { withinMs: 60_000 });
    expect(candleRequests(binance)).toBe(before);
    writeFileSync(key, 'key');
    await waitFor('requests to it', () => candleRequests(binance) > before, { withinMs: 60_000 });
    running.kill('SIGTERM');
    const { stdout, stderr } = await running.ended;
    expect(`${stdout}${stderr}`.match(/no worker can be started for a source; retrying/g)).toHaveLength(1);
  });

  it.each([
    ['key-variable: NO_SUCH_KEY', 'no key: NO_SUCH_KEY is not set'],
    ['key-file: /no/such/file', 'no key: /no/such/file cannot be read'],
  ])('a source with %s stops only commands that ask it', async (key, problem) => {
    const { env, bybit, binance, sources, write, track } = await open(queue);
    write(`sources:\n  binance: { url: '${binance.url}', ${key} }\n  bybit: { url: '${bybit.url}' }\n`);
    expect((await sources()).get('binance')).toMatchObject({ problem });
    expect((await tidemark(['sources'], env)).stdout).toContain(problem);
    expect(await track('binance', Date.now() - dayMs)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`the source binance has ${problem}`),
    });
    expect(await track('bybit', Date.now() - dayMs)).toMatchObject({ exitCode: 0 });
    expect(binance.requests().total).toBe(0);
  });

  it.each([
    ['sources:\n  mine: { url: "http://127.0.0.1:1" }\n', 'needs a profile: one of'],
    ['sources:\n  mine: { profile: coincap-v4 }\n', 'needs a profile: one of'],
    ['sources:\n  mine: { profile: market-data-service }\n', 'needs a url'],
    ['sources:\n  binance: { budget: lots }\n', ':2:'],
    ['sources:\n  binance: { url: "http://me:hush@127.0.0.1:1" }\n', 'without a name, a password or a query'],
    ['sources: [binance]\n', 'must be a map of sources'],
    ['sources:\n  "Binance!": {}\n', 'is not lower-case letters, digits and hyphens'],
  ])('refuses %j', async (text, words) => {
    const { env, write } = await open(queue);
    write(text);
    expect(await tidemark(['sources'], env)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^tidemark: BAD_WATCH_LIST: .+/),
    });
    expect((await tidemark(['sources'], env)).stderr).toContain(words);
  });
}

describe('tidemark sources, queue on PostgreSQL', () => suite('postgres'));
describeNeeding('redis', 'tidemark sources, queue on Redis', () => suite('redis'));
