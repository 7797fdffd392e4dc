import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { dayMs, minuteMs } from '../../../contract/intervals.ts';
import type { Candle } from '../../../contract/resources.ts';
import { startVenueSimulator } from '../../../simulator/venues/start.ts';
import type { VenueName } from '../../../simulator/venues/venue.ts';
import { profiles } from '../../../source/profiles/profiles.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { storedPoints } from '../../pipeline/stored.ts';
import { serve } from '../../source/local-server.ts';
import { tidemark } from '../command.ts';

/** Venues with all their history, and a market that each has. */
const venues = [
  { profile: 'binance', symbol: 'BTC/USDT', base: 'bitcoin', quote: 'tether' },
  { profile: 'coinbase', symbol: 'BTC/USD', base: 'bitcoin', quote: 'united-states-dollar' },
  { profile: 'bybit', symbol: 'BTC/USDT', base: 'bitcoin', quote: 'tether' },
  { profile: 'okx', symbol: 'BTC/USDT', base: 'bitcoin', quote: 'tether' },
] as const;

async function open(
  queue: 'postgres' | 'redis',
  profile: VenueName,
  options: { readonly apiKey?: string } = {},
) {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startVenueSimulator({ profile, ...options });
  onTestFinished(() => simulator.close());
  const list = join(mkdtempSync(join(tmpdir(), 'tidemark-sources-')), 'tidemark.yaml');
  writeFileSync(list, `sources:\n  ${profile}: { url: '${simulator.url}' }\n`);
  const env: Record<string, string> = {
    DATABASE_URL: url,
    WATCH_LIST: list,
    PLANNING_TICK_MS: '200',
    QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}`,
    ...(queue === 'redis' ? { REDIS_URL: inject('redisUrl') ?? '' } : {}),
  };
  expect((await tidemark(['migrate'], env)).exitCode).toBe(0);
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 2,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(() => database.close());
  return { env, simulator, database };
}

function suite(queue: 'postgres' | 'redis') {
  it.each(venues)('of $profile, with the fewest requests, to the last digit', async (venue) => {
    const { env, simulator, database } = await open(queue, venue.profile);
    const range = { startMs: Date.UTC(2024, 2, 1), endMs: Date.UTC(2024, 2, 3) };
    const words = ['backfill', 'candles', '--source', venue.profile, '--symbol', venue.symbol, '--json'];
    const days = ['--interval', 'm1,h1', '--from', '2024-03-01', '--to', '2024-03-03'];
    const first = await tidemark([...words, ...days], env);
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    const outcome = JSON.parse(first.stdout);

    const longest = profiles[venue.profile]?.longestRangeMs.candles ?? {};
    const fewest = (interval: 'm1' | 'h1') => Math.ceil((2 * dayMs) / (longest[interval] ?? 0));
    expect(outcome).toMatchObject({ requests: fewest('m1') + fewest('h1'), windowsLeft: 0 });
    // The list of markets is one more.
    expect(simulator.requests().total).toBe(outcome.requests + 1);

    const [base = '', quote = ''] = venue.symbol.split('/');
    for (const interval of ['m1', 'h1'] as const) {
      const stored = {
        dataset: 'candles',
        exchange: venue.profile,
        baseId: base,
        quoteId: quote,
        interval,
      } as const;
      expect(await storedPoints(database, stored)).toEqual(
        simulator.truth.candles({ ...stored, baseId: venue.base, quoteId: venue.quote }, range),
      );
    }
    const again = await tidemark([...words, ...days], env);
    expect(JSON.parse(again.stdout)).toMatchObject({ requests: 0, points: 0 });
    expect(simulator.requests().total).toBe(outcome.requests + 1);
    expect(simulator.requests().count429).toBe(0);
  });

  it('of kraken, as far back as it keeps candles; the rest is a gap with this reason', async () => {
    const { env, simulator, database } = await open(queue, 'kraken');
    const fromMs = Date.now() - 2 * dayMs;
    const range = ['--interval', 'm1', '--from', new Date(fromMs).toISOString()];
    const words = ['backfill', 'candles', '--source', 'kraken', '--symbol', 'BTC/USD', ...range, '--json'];
    const beforeMs = Date.now();
    const first = await tidemark(words, env);
    const afterMs = Date.now();
    expect(first.exitCode).toBe(3);
    expect(first.stderr).toMatch(
      /not requested: kraken keeps the newest 720 periods \(12 h of m1\).*begin later, or import files/,
    );
    expect(JSON.parse(first.stdout)).toMatchObject({ requests: 1, missing: 1 });
    expect(simulator.requests().total).toBe(2);

    const series = { dataset: 'candles', exchange: 'kraken', interval: 'm1' } as const;
    const stored = (await storedPoints(database, { ...series, baseId: 'BTC', quoteId: 'USD' })) as Candle[];
    const traded = stored.filter(({ volume }) => Number(volume) !== 0);
    const firstMs = Math.min(...stored.map(({ period }) => period));
    const lastMs = Math.max(...stored.map(({ period }) => period));
    // 720 less the open one and those that may close meanwhile.
    expect(stored.length).toBeGreaterThanOrEqual(715);
    expect(firstMs).toBeGreaterThanOrEqual(beforeMs - 720 * minuteMs);
    const truth = simulator.truth.candles(
      { ...series, baseId: 'bitcoin', quoteId: 'united-states-dollar' },
      { startMs: firstMs, endMs: lastMs },
      afterMs,
    );
    expect(traded.filter(({ period }) => period < lastMs)).toEqual(truth);
    const { gaps } = JSON.parse((await tidemark(['gaps', '--json'], env)).stdout);
    // A minute may have closed since.
    const failed = gaps.filter(({ reason }: { reason: string }) => reason !== 'not_asked');
    expect(failed).toMatchObject([{ reason: 'failed', end: new Date(firstMs).toISOString() }]);
    expect((await tidemark(['gaps'], env)).stdout).toContain('kraken keeps the newest 720 periods');
    const status = (await tidemark(['status'], env)).stdout;
    expect(status).toMatch(/1 range is beyond the depth of its source: kraken keeps/);
    expect(status).toMatch(/ beyond the depth of its source$/m);
    expect(status).not.toContain('failed');
    expect(status).toMatch(/^source kraken: 1 series, \d+ of 54 requests in the last minute$/m);
    expect(status).not.toMatch(/SOURCE_URL|^budget|^rates/m);
    expect(JSON.parse((await tidemark(['status', '--json'], env)).stdout)).toMatchObject({ budget: null });
  });

  it('of a watch list, by symbols, and reports what the source lacks', async () => {
    const { env, simulator, database } = await open(queue, 'binance');
    const sources = `sources:\n  binance: { url: '${simulator.url}' }\n`;
    const range = "from: '2024-03-01', to: '2024-03-03'";
    const { WATCH_LIST: list = '' } = env;
    writeFileSync(
      list,
      `${sources}candles:
  - { source: binance, symbol: [BTC/USDT, ETHUSDT, NO/SUCH], interval: [h1, d1], ${range} }
  - { source: kraken-x, symbol: BTC/USD, interval: h1, ${range} }
`,
    );
    const applied = await tidemark(['apply', '--json'], env);
    expect(applied).toMatchObject({ exitCode: 0, stderr: '' });
    const { series, sources: chosen, notes } = JSON.parse(applied.stdout);
    expect(
      series.map((one: { baseId: string; interval: string }) => `${one.baseId} ${one.interval}`).sort(),
    ).toEqual(['BTC d1', 'BTC h1', 'ETH d1', 'ETH h1']);
    expect(chosen).toHaveLength(4);
    expect(chosen[0].sources).toEqual([
      { source: 'binance', symbol: expect.stringMatching(/^(BTC|ETH)USDT$/) },
    ]);
    expect(notes.map((note: { message: string }) => note.message)).toEqual([
      expect.stringContaining('"NO/SUCH" is not a market of binance'),
      expect.stringContaining('no source is named "kraken-x"'),
    ]);
    // Again it changes nothing, and the list of markets is not read again.
    const again = await tidemark(['apply'], env);
    expect(again.stdout).toContain('nothing to do');
    expect(simulator.requests().total).toBe(1);

    const names = ['--exchange', 'binance', '--base', 'ETH', '--quote', 'USDT', '--interval', 'h1'];
    const days = ['--from', '2024-03-01', '--to', '2024-03-03'];
    expect(await tidemark(['backfill', 'candles', ...names, ...days], env)).toMatchObject({ exitCode: 0 });
    const key = { dataset: 'candles', exchange: 'binance', interval: 'h1' } as const;
    expect(await storedPoints(database, { ...key, baseId: 'ETH', quoteId: 'USDT' })).toEqual(
      simulator.truth.candles(
        { ...key, baseId: 'ethereum', quoteId: 'tether' },
        { startMs: Date.UTC(2024, 2, 1), endMs: Date.UTC(2024, 2, 3) },
      ),
    );
  });

  it('by the ids that aliases give its codes, as one series under either name', async () => {
    const { env, simulator, database } = await open(queue, 'binance');
    const { WATCH_LIST: list = '' } = env;
    const write = (aliases: string) =>
      writeFileSync(list, `sources:\n  binance: { url: '${simulator.url}' }\n${aliases}`);
    const track = (symbol: string) =>
      tidemark(
        [
          'track',
          'candles',
          '--source',
          'binance',
          '--symbol',
          symbol,
          '--interval',
          'h1',
          '--from',
          '2024-03-01',
        ],
        env,
      );
    expect((await track('ETH/USDT')).stdout).toContain('tracking binance ETH/USDT h1');
    write('aliases: { BTC: bitcoin, ETH: ethereum, USDT: tether, binance: { SOL: solana } }\n');
    expect((await tidemark(['apply', '--dry-run'], env)).stdout).toContain(
      'aliases: BTC bitcoin, ETH ethereum',
    );
    expect((await database.pool.query('select from tidemark.asset_aliases')).rowCount).toBe(0);
    expect(await tidemark(['apply'], env)).toMatchObject({ exitCode: 0 });
    expect((await track('BTC/USDT')).stdout).toContain('tracking binance bitcoin/tether h1');
    expect((await track('SOLUSDT')).stdout).toContain('tracking binance solana/tether h1');
    // Without an alias it keeps its code.
    expect((await track('ADA/USDT')).stdout).toContain('tracking binance ADA/tether h1');
    // The series that was there goes on under its name.
    expect((await track('ETH/USDT')).stdout).toContain(
      'already tracked, range unchanged: binance ETH/USDT h1',
    );
    for (const name of ['binance ethereum/tether h1', 'binance ETH/USDT h1', 'binance BTC/USDT h1'])
      expect(await tidemark(['why', name], env)).toMatchObject({ exitCode: 0 });
    const ofSql = (base: string, quote: string) =>
      database.pool.query(`select count(*) from candles('binance', '${base}', '${quote}', 'h1')`);
    for (const [base, quote] of [
      ['bitcoin', 'tether'],
      ['BTC', 'USDT'],
      ['ethereum', 'tether'],
      ['ETH', 'USDT'],
      ['BTC', 'tether'],
    ])
      expect((await ofSql(base ?? '', quote ?? '')).rowCount).toBe(1);
    await expect(ofSql('XBT', 'USDT')).rejects.toThrow('unknown base "XBT"');
    const markets = await database.pool.query(
      `select base, base_id, quote_id from source_markets where symbol in ('BTCUSDT', 'ADAUSDT') order by symbol`,
    );
    expect(markets.rows).toEqual([
      { base: 'ADA', base_id: 'ADA', quote_id: 'tether' },
      { base: 'BTC', base_id: 'bitcoin', quote_id: 'tether' },
    ]);
  });

  it('of two sources, the next of what the first does not know', async () => {
    const { env, simulator, database } = await open(queue, 'binance');
    const { WATCH_LIST: list = '' } = env;
    const first = await serve((_request, response) => {
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"error":"bitcoin not found","timestamp":1}');
    });
    writeFileSync(
      list,
      `aliases: { BTC: bitcoin, USDT: tether }
sources:
  binance: { url: '${simulator.url}' }
  first: { profile: market-data-service, url: '${first.baseUrl}' }
candles:
  - { source: [first, binance], symbol: BTC/USDT, interval: h1, from: '2024-03-01', to: '2024-03-03' }
`,
    );
    expect(await tidemark(['apply'], env)).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringContaining('from first, then binance (BTCUSDT)'),
    });
    const names = ['--exchange', 'binance', '--base', 'bitcoin', '--quote', 'tether', '--interval', 'h1'];
    const days = ['--from', '2024-03-01', '--to', '2024-03-03'];
    expect(await tidemark(['backfill', 'candles', ...names, ...days], env)).toMatchObject({ exitCode: 0 });
    const series = { dataset: 'candles', exchange: 'binance', interval: 'h1' } as const;
    const key = { ...series, baseId: 'bitcoin', quoteId: 'tether' };
    const [startMs, endMs] = [Date.UTC(2024, 2, 1), Date.UTC(2024, 2, 3)];
    expect(await storedPoints(database, key)).toEqual(simulator.truth.candles(key, { startMs, endMs }));
    expect(first.requests.length).toBeGreaterThan(0);
    const given = await database.pool.query('select source, from_time, to_time from source_coverage');
    expect(given.rows).toEqual([{ source: 'binance', from_time: startMs, to_time: endMs }]);
    expect((await tidemark(['why', 'binance bitcoin/tether h1'], env)).stdout).toContain(
      'binance: 2 d between 2024-03-01 and 2024-03-03',
    );
  });

  it('of coincap-v3 with its key, and no further than its credits reach', async () => {
    const apiKey = 'a-key-of-ours-0123456789';
    const { env, simulator, database } = await open(queue, 'coincap-v3', { apiKey });
    const { WATCH_LIST: list = '' } = env;
    const write = (credits: number) =>
      writeFileSync(
        list,
        `sources:\n  coincap-v3: { url: '${simulator.url}', key-variable: COINCAP_KEY, credits: ${credits} }\n`,
      );
    const keyed = { ...env, COINCAP_KEY: apiKey };
    const words = ['backfill', 'history', '--source', 'coincap-v3', '--asset', 'bitcoin', '--interval', 'm5'];
    const range = ['--from', '2024-01-01', '--to', '2024-03-01', '--json'];
    // A request of five days costs about 60.
    write(300);
    const stopped = await tidemark([...words, ...range], keyed);
    expect(stopped).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('of 300 credits in 31 d are used'),
    });
    expect(simulator.requests().creditsUsed).toBeLessThan(500);
    write(4000);
    expect(await tidemark([...words, ...range], keyed)).toMatchObject({ exitCode: 0, stderr: '' });
    const series = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'm5' } as const;
    expect(await storedPoints(database, series)).toEqual(
      simulator.truth.history(series, { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 2, 1) }),
    );
    expect(simulator.requests().refused).toBe(0);
    const { sources } = JSON.parse((await tidemark(['sources', '--json'], keyed)).stdout);
    const { creditsUsed } = sources.find((one: { name: string }) => one.name === 'coincap-v3');
    expect(creditsUsed).toBe(simulator.requests().creditsUsed);
    // What was fetched is compared as far as the credits reach.
    write(creditsUsed + 200);
    const verified = await tidemark(['verify', 'bitcoin m5', '--all', '--json'], keyed);
    expect(verified).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(
        /could not be compared, the first: coincap-v3: [\d,]+ of [\d,]+ credits in \d+ d are used, /,
      ),
    });
    const { compared, unanswered } = JSON.parse(verified.stdout);
    expect(compared).toBeGreaterThan(0);
    expect(unanswered.length).toBeGreaterThan(0);
    expect(simulator.requests().creditsUsed).toBeLessThanOrEqual(creditsUsed + 200);
    // The key is in nothing that is printed or stored.
    const stored = await database.pool.query('select * from tidemark.fetches');
    expect(JSON.stringify(stored.rows) + stopped.stderr).not.toContain(apiKey);
  });
}

it.each(venues)('backfills from $profile, whose requests fail in every way', async (venue) => {
  const { env, simulator, database } = await open('postgres', venue.profile);
  const words = ['backfill', 'candles', '--source', venue.profile, '--symbol', venue.symbol, '--json'];
  const endMs = Date.UTC(2024, 2, 1) + 15 * (profiles[venue.profile]?.longestRangeMs.candles.m1 ?? 0);
  const days = ['--interval', 'm1', '--from', '2024-03-01', '--to', new Date(endMs).toISOString()];
  // The list of markets is read once, without retries.
  expect((await tidemark(['markets', '--source', venue.profile], env)).exitCode).toBe(0);
  simulator.setFaults({
    ...{
      errorRate: 0.1,
      truncateRate: 0.05,
      htmlRate: 0.05,
      resetRate: 0.05,
      dripRate: 0.02,
      timeoutRate: 0.02,
    },
    ...{ rateLimitRate: 0.05, rateLimitBurst: 2, rateLimitResetMs: 1000 },
  });
  const ended = await tidemark([...words, ...days], {
    ...env,
    SOURCE_TIMEOUT_SECONDS: '2',
    WORKER_ATTEMPTS: '20',
  });
  expect(ended.exitCode).toBe(0);
  const stored = { dataset: 'candles', exchange: venue.profile, interval: 'm1' } as const;
  const [base = '', quote = ''] = venue.symbol.split('/');
  expect(await storedPoints(database, { ...stored, baseId: base, quoteId: quote })).toEqual(
    simulator.truth.candles(
      { ...stored, baseId: venue.base, quoteId: venue.quote },
      { startMs: Date.UTC(2024, 2, 1), endMs },
    ),
  );
  const failed = await database.pool.query('select from tidemark.fetches where error is not null');
  expect(failed.rowCount).toBeGreaterThan(0);
});

describe('backfills from a source by its symbol, queue on PostgreSQL', () => suite('postgres'));
describeNeeding('redis', 'backfills from a source by its symbol, queue on Redis', () => suite('redis'));
