import { expect, it } from 'vitest';
import type { VenueName } from '../../../simulator/venues/venue.ts';
import { openVenues } from './watch-list-parts.ts';

interface Cost {
  readonly seconds: number | null;
  readonly points: number;
  readonly sources: readonly Record<'requests' | 'cost' | 'seconds' | 'left' | 'lostSeconds', number>[];
}

async function open<Name extends VenueName>(names: readonly Name[]) {
  const opened = await openVenues(names);
  const dry = (words: string) => opened.say(`backfill ${words} --dry-run`, { COINCAP_KEY: 'a-key' });
  const cost = async (words: string): Promise<Cost> => JSON.parse(await dry(`${words} --json`));
  return { ...opened, dry, cost };
}

const market = (source: string, symbol: string, interval: string) =>
  `candles --source ${source} --symbol ${symbol} --interval ${interval} --from`;

it('counts only what a source still keeps, and warns of the rest', async () => {
  const { dry, cost } = await open(['kraken']);
  const words = `${market('kraken', 'BTC/USD', 'm5')} 5d`;
  const { points, sources } = await cost(words);
  expect(sources).toMatchObject([{ source: 'kraken', requests: 1, keepsPeriods: 721 }]);
  expect(points).toBeLessThanOrEqual(721);
  expect(sources[0]?.lostSeconds).toBeGreaterThan(2.4 * 86_400);
  const text = await dry(words);
  expect(text).toMatch(
    /warning: kraken keeps the newest 721 periods: 2 d 1\d h of the missing ranges are older, and stay missing/,
  );
  const forGood = 'a longer break loses data of kraken BTC/USD m5 for good';
  expect(text).toContain(`kraken keeps the newest 721 periods (2 d 12 h of m5): ${forGood}`);
});

it('warns of a break only of series that no archive has', async () => {
  const { say, list } = await openVenues(['binance-usdm-data', 'binance-usdm-archive-daily']);
  list({ 'binance-usdm-data': ', archive: binance-usdm-archive-daily' });
  const words = '--source binance-usdm-data --symbol BTC/USDT:USDT --from 1d --interval';
  const risk = async () => /30 d: a longer break loses (.*) for good/.exec(await say('plan'))?.[1];
  await say(`track open-interest ${words} m5`);
  expect(await risk()).toBe(undefined);
  await say(`track open-interest ${words} h1`);
  expect(await risk()).toBe('data of binance BTC/USDT:USDT h1 open-interest');
  await say(`track long-short-ratios ${words} h1,m15`);
  expect(await risk()).toBe('data of m15, h1');
});

it('counts the requests of the planner, beyond a depth and in the files of an archive', async () => {
  const { say, json, query, list } = await open(['kraken', 'binance', 'binance-archive']);
  list({ binance: ', archive: binance-archive' });
  const counts = async () => [(await json('plan')).requests, (await json('status')).windowsLeft];
  await say(`track ${market('kraken', 'BTC/USD', 'm1')} 2y`);
  expect(await counts()).toEqual([1, 1]);
  await query('update tidemark.series set untracked_at = now()');
  await say(`track ${market('binance', 'BTC/USDT', 'm1')} 2024-01-15 --to 2024-03-02`);
  // Each file has a checksum.
  expect(await counts()).toEqual([2 * 3, 3]);
  await query(
    `insert into tidemark.pending_windows (series_id, range, source, reason, first_at, retry_at)
     select id, '[2024-02-01Z,2024-03-01Z)', 'binance-archive', 'lacks', now(), now() + '1 d' from tidemark.series`,
  );
  // REST gives 1,000 minutes a request of the month without a file.
  expect(await counts()).toEqual([2 * 2 + 42, 2 + 42]);
});

it('counts credits, and warns when they will not do', async () => {
  const { dry, cost, list, query } = await open(['coincap-v3']);
  list({ 'coincap-v3': ', key-variable: COINCAP_KEY' });
  const words = 'history --source coincap-v3 --asset bitcoin --from 2024-01-01 --interval';
  const ofDays = await cost(`${words} d1 --to 2024-03-01`);
  expect(ofDays.sources).toMatchObject([{ source: 'coincap-v3', unit: 'credit', left: 4000 }]);
  expect(ofDays.sources[0]?.cost).toBeLessThan(10);
  // 365 days of 1,440 rows of 142 bytes, and a request a day.
  const ofMinutes = await cost(`${words} m1 --to 2024-12-31`);
  expect(ofMinutes.sources[0]?.cost).toBe(365 + Math.ceil((365 * 1440 * 142) / 2500));
  expect(await dry(`${words} m1 --to 2024-12-31`)).toMatch(
    /warning: coincap-v3 has 4,000 of 4,000 credits in 31 d left, and this needs about 30,220: it takes about 217 d/,
  );
  expect(await dry(`${words} m1 --to 2024-01-03`)).not.toContain('warning');
  await query(
    `insert into tidemark.fetches (time, dataset, lane, attempt, verdict, bytes, duration_ms, source)
     values (now(), 'asset_history', 'backfill', 1, 'filled', 2500 * 999, 1, 'coincap-v3')`,
  );
  expect((await cost(`${words} d1 --to 2024-03-01`)).sources[0]?.left).toBe(3000);
});

it('says of each source how much staying fresh takes of its budget', async () => {
  const { say, json } = await open(['kraken', 'coinbase']);
  for (const source of ['kraken', 'coinbase']) await say(`track ${market(source, 'BTC/USD', 'm1')} 1h`);
  const text = await say('plan');
  expect(text).toMatch(/^staying fresh takes 2\.0\d requests a minute: 2\.00 for new periods/m);
  for (const [source, share] of [
    ['kraken', '2\\.2'],
    ['coinbase', '0\\.2'],
  ])
    expect(text).toMatch(
      new RegExp(`^${source}: 1 request, .*; staying fresh takes 1\\.0\\d a minute, ${share} % of the budget$`, 'm'),
    );
  expect(await json('plan')).toMatchObject({
    fresh: { refreshPerMinute: 2, wantedEverySeconds: 60, everySeconds: 60 },
  });
});
