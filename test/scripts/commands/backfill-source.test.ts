import { expect, it, onTestFinished } from 'vitest';
import { dayMs, minuteMs } from '../../../model/intervals.ts';
import { startVenueSimulator } from '../../../simulator/venues/start.ts';
import { profiles } from '../../../sources/profiles/profiles.ts';
import type { Candle } from '../../../v2/resources.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { storedPoints } from '../../pipeline/stored.ts';
import { openVenues } from './watch-list-parts.ts';

/** Venues with all their history, and a market that each has. */
const venues = [
  { profile: 'binance', symbol: 'BTC/USDT', base: 'bitcoin', quote: 'tether' },
  { profile: 'coinbase', symbol: 'BTC/USD', base: 'bitcoin', quote: 'united-states-dollar' },
  { profile: 'bybit', symbol: 'BTC/USDT', base: 'bitcoin', quote: 'tether' },
  { profile: 'okx', symbol: 'BTC/USDT', base: 'bitcoin', quote: 'tether' },
] as const;

const range = { startMs: Date.UTC(2024, 2, 1), endMs: Date.UTC(2024, 2, 3) };
const days = '--from 2024-03-01 --to 2024-03-03';

it.each(venues)('of $profile, with the fewest requests, to the last digit', async (venue) => {
  const { profile, symbol } = venue;
  const opened = await openVenues([profile]);
  const simulator = Object.values(opened.venues)[0];
  const backfill = async () =>
    JSON.parse(
      await opened.say(`backfill candles --source ${profile} --symbol ${symbol} --interval m1,h1 ${days} --json`),
    );
  const outcome = await backfill();
  const longest = profiles[profile]?.offers[0]?.longestRangeMs ?? {};
  const fewest = (interval: 'm1' | 'h1') => Math.ceil((2 * dayMs) / (longest[interval] ?? 0));
  expect(outcome).toMatchObject({ requests: fewest('m1') + fewest('h1'), windowsLeft: 0 });
  expect(simulator?.requests().total).toBe(outcome.requests + 1);

  const [baseId = '', quoteId = ''] = symbol.split('/');
  for (const interval of ['m1', 'h1'] as const) {
    const stored = { dataset: 'candles', exchange: profile, baseId, quoteId, interval } as const;
    expect(await storedPoints(opened.database, stored)).toEqual(
      simulator?.truth.candles({ ...stored, baseId: venue.base, quoteId: venue.quote }, range),
    );
  }
  expect(await backfill()).toMatchObject({ requests: 0, points: 0 });
  expect(simulator?.requests()).toMatchObject({ total: outcome.requests + 1, count429: 0 });
});

it('of spot markets and swaps of OKX at once, each at half of the limit of the path that both use', async () => {
  // Without a limit of its own: after a refusal both would pause for a minute, whatever their pace was.
  const { list, run, venues } = await openVenues(['okx-swap'], { perMinute: null });
  const venue = venues['okx-swap'];
  list({}, `  okx: { url: '${venue.url}' }\n`);
  const markets = ['okx --symbol BTC/USDT', 'okx-swap --symbol BTC/USDT:USDT'];
  const ended = await Promise.all(
    markets.map((market) => run(`backfill candles --source ${market} --interval m1 --from 2024-03-01 --to 2024-03-07`)),
  );
  expect(ended).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }]);
  expect(venue.requests().total).toBe(2 * 29 + 2);
  for (const market of ['BTC-USDT', 'BTC-USDT-SWAP']) {
    const asked = venue.requests().recent.filter(({ url }) => url.includes(`instId=${market}&`));
    const [first, last] = [asked[0], asked.at(-1)];
    const each = ((last?.monotonicMs ?? 0) - (first?.monotonicMs ?? 0)) / (asked.length - 1);
    expect(asked.length).toBe(29);
    // The path allows 20 in two seconds. A market that thought it had it alone would ask 18 times, one in 111 ms; the
    // mean is a sum of many spacings, which a machine that stalls hardly changes.
    expect(2000 / each).toBeLessThan(15);
  }
});

it('of kraken, as far back as it keeps candles; the rest is a gap with this reason', async () => {
  const { run, say, json, venues, database } = await openVenues(['kraken']);
  const beforeMs = Date.now();
  const from = new Date(beforeMs - 2 * dayMs).toISOString();
  const first = await run(`backfill candles --source kraken --symbol BTC/USD --interval m1 --from ${from} --json`);
  const afterMs = Date.now();
  expect(first.exitCode).toBe(3);
  expect(first.stderr).toMatch(
    /not requested: kraken keeps the newest 721 periods \(12 h 1 min of m1\).*begin later \(.+\), or import files/,
  );
  expect(JSON.parse(first.stdout)).toMatchObject({ missing: 1 });

  const series = { dataset: 'candles', exchange: 'kraken', interval: 'm1' } as const;
  const stored = (await storedPoints(database, { ...series, baseId: 'BTC', quoteId: 'USD' })) as Candle[];
  const firstMs = Math.min(...stored.map(({ period }) => period));
  const lastMs = Math.max(...stored.map(({ period }) => period));
  // 721 with the open one, which is not stored.
  expect(stored.length).toBeGreaterThan(700);
  expect(firstMs).toBeGreaterThanOrEqual(beforeMs - 721 * minuteMs);
  const truth = venues.kraken.truth.candles(
    { ...series, baseId: 'bitcoin', quoteId: 'united-states-dollar' },
    { startMs: firstMs, endMs: lastMs },
    afterMs,
  );
  const traded = stored.filter(({ volume }) => Number(volume) !== 0);
  expect(traded.filter(({ period }) => period < lastMs)).toEqual(truth);
  const { gaps } = await json<{ gaps: { reason: string }[] }>('gaps');
  // A minute may have closed since.
  expect(gaps.filter(({ reason }) => reason !== 'not_asked')).toMatchObject([
    { reason: 'failed', end: new Date(firstMs).toISOString() },
  ]);
  expect(await say('gaps')).toContain('kraken keeps the newest 721 periods');
  const status = await say('status');
  expect(status).toMatch(/1 range is beyond the depth of its source: kraken keeps/);
  expect(status).toMatch(/ beyond the depth of its source$/m);
  expect(status).toMatch(/^source kraken: 1 series, \d+ of 45 requests in the last minute$/m);
  expect(status).not.toMatch(/failed|SOURCE_URL|^budget|^rates/m);
  expect(await json('status')).toMatchObject({ budget: null });
});

it('of coincap-v3 with its key, and no further than its credits reach', async () => {
  const apiKey = 'a-key-of-ours-0123456789';
  const { run, list, venues, database, query } = await openVenues(['coincap-v3'], { apiKey });
  const simulator = venues['coincap-v3'];
  const allow = (credits: number) => list({ 'coincap-v3': `, key-variable: COINCAP_KEY, credits: ${credits}` });
  const keyed = (words: string) => run(`${words} --json`, { COINCAP_KEY: apiKey });
  const backfill =
    'backfill history --source coincap-v3 --asset bitcoin --interval m5 --from 2024-01-01 --to 2024-03-01';
  // A request of five days costs about 60.
  allow(300);
  const stopped = await keyed(backfill);
  expect(stopped).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('of 300 credits in 31 d are used') });
  expect(simulator.requests().creditsUsed).toBeLessThan(500);
  allow(4000);
  expect(await keyed(backfill)).toMatchObject({ exitCode: 0, stderr: '' });
  const series = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'm5' } as const;
  expect(await storedPoints(database, series)).toEqual(
    simulator.truth.history(series, { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 2, 1) }),
  );
  expect(simulator.requests().refused).toBe(0);
  const { sources } = JSON.parse((await keyed('sources')).stdout);
  const { creditsUsed } = sources.find((one: { name: string }) => one.name === 'coincap-v3');
  expect(creditsUsed).toBe(simulator.requests().creditsUsed);
  // The key is in nothing that is printed or stored.
  const stored = await query('select * from tidemark.fetches');
  expect(JSON.stringify(stored) + stopped.stderr).not.toContain(apiKey);
});

it('of rows that contradict one another, the next source gives them; without one they are named, and it is not complete', async () => {
  const { fails, list, say, query, venues } = await openVenues(['okx']);
  venues.okx.setFaults({ answerForm: 'contradiction' });
  const mirror = await startVenueSimulator({ profile: 'okx' });
  onTestFinished(() => mirror.close());
  list(
    {},
    `  mirror: { profile: okx, url: '${mirror.url}' }
candles: [{ source: [okx, mirror], symbol: BTC/USDT, interval: h1, from: 2024-03-01, to: 2024-03-03 }]\n`,
  );
  await say('apply');
  await say(`backfill candles --exchange okx --base BTC --quote USDT --interval h1 ${days} --accept-rejected`);
  const given = 'select source, sum(to_time - from_time)::text as time from source_coverage group by 1 order by 1';
  expect(await query(given)).toEqual([
    { source: 'mirror', time: '01:00:00' },
    { source: 'okx', time: '1 day 23:00:00' },
  ]);
  const said = /the answer has rows of this period that differ/;
  await fails(`backfill candles --source okx --symbol BTC/USDT --interval m30 ${days}`, 3, said);
  // The answer to the period alone has its neighbours too, which are stored already.
  expect(await say('why okx BTC/USDT m30')).toMatch(
    /: unreadable, 0 new.*; 2 rows rejected: another row of the same period has other values: \{/,
  );
});

it('run reads the list of markets again when it is a day old, and keeps what changed', async () => {
  const { say, begin, query, venues } = await openVenues(['okx-swap']);
  const aDayAgo = "now() - interval '25 hours'";
  await say('track candles --source okx-swap --symbol BTC/USDT:USDT --interval d1 --from 10d');
  await query(
    `update tidemark.source_symbols set seen_at = ${aDayAgo}, contract_size = 7 where symbol = 'BTC-USDT-SWAP'`,
  );
  await query(`update tidemark.source_symbols set seen_at = ${aDayAgo}`);
  await query(`insert into tidemark.source_symbols select source, 'OLD', base, quote, null, true, seen_at
               from tidemark.source_symbols where symbol = 'BTC-USDT-SWAP'`);
  const lists = () => venues['okx-swap'].requests().recent.filter(({ url }) => url.includes('/instruments')).length;
  const before = lists();

  const running = begin('run', { SERVE_PORT: '0', DASHBOARD: 'off' });
  const changes = () =>
    query(`select symbol, contract_size::text as size from source_market_snapshots
           where time > now() - interval '1 hour' and time > (select min(time) from source_market_snapshots)`);
  await waitFor('the list', async () => (await changes()).length > 0);
  expect(await changes()).toEqual([{ symbol: 'BTC-USDT-SWAP', size: '0.01' }]);
  expect(
    await query(`select gone_since is null as listed, missed_at is not null as missed
                      from tidemark.source_symbols where symbol = 'OLD'`),
  ).toEqual([{ listed: true, missed: true }]);
  expect(lists()).toBe(before + 1);
  running.kill('SIGINT');
  expect((await running.ended).exitCode).toBe(0);
});

it('run reads the list of a source that the watch list needs, and fetches its markets', async () => {
  const { begin, list, series } = await openVenues(['okx-swap']);
  list({}, "candles:\n  - { source: okx-swap, symbol: '*/USDT:USDT', interval: d1, from: 3d }\n");
  const running = begin('run', { SERVE_PORT: '0', DASHBOARD: 'off' });
  await waitFor('its points', async () => (await series()).some((line) => / tracked [1-9]/.test(line)));
  running.kill('SIGINT');
  expect((await running.ended).exitCode).toBe(0);
});
