import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startVenueSimulator } from '../../../simulator/venues/start.ts';
import type { VenueName } from '../../../simulator/venues/venue.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { tidemark } from '../command.ts';

/** A database, and a watch list with these sources. */
async function open(
  profiles: readonly VenueName[],
  entries: Readonly<Partial<Record<VenueName, string>>> = {},
) {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const lines: string[] = [];
  for (const profile of profiles) {
    const simulator = await startVenueSimulator({ profile });
    onTestFinished(() => simulator.close());
    const { [profile]: more = '' } = entries;
    lines.push(`  ${profile}: { url: '${simulator.url}'${more} }`);
  }
  const list = join(mkdtempSync(join(tmpdir(), 'tidemark-plan-')), 'tidemark.yaml');
  writeFileSync(list, `sources:\n${lines.join('\n')}\n`);
  const env = { DATABASE_URL: url, WATCH_LIST: list, RATES_SECONDS: '0', COINCAP_KEY: 'a-key' };
  const dry = async (...words: string[]) => (await tidemark(['backfill', ...words, '--dry-run'], env)).stdout;
  const json = async (...words: string[]) => JSON.parse(await dry(...words, '--json'));
  const track = (...words: string[]) => tidemark(['track', ...words], env);
  return { env, url, dry, json, track };
}

const market = (source: string, symbol: string, interval: string) => [
  ...['candles', '--source', source, '--symbol', symbol],
  ...['--interval', interval, '--from'],
];

it('counts only what a source still keeps, and warns of the rest', async () => {
  const { dry, json } = await open(['kraken']);
  const words = [...market('kraken', 'BTC/USD', 'm5'), '5d'];
  const cost = await json(...words);
  expect(cost).toMatchObject({
    requests: 1,
    sources: [{ source: 'kraken', requests: 1, keepsPeriods: 720 }],
  });
  expect(cost.points).toBeLessThanOrEqual(720);
  expect(cost.sources[0].lostSeconds).toBeGreaterThan(2.4 * 86_400);
  const text = await dry(...words);
  expect(text).toMatch(
    /warning: kraken keeps the newest 720 periods: 2 d 1\d h of the missing ranges are older, and stay missing/,
  );
  expect(text).toContain(
    'kraken keeps the newest 720 periods (2 d 12 h of m5): a longer break loses data for good',
  );
});

it('counts the months of an archive apart from the weight of what comes after them', async () => {
  const { dry, json } = await open(['binance', 'binance-archive'], { binance: ', archive: binance-archive' });
  const words = [...market('binance', 'BTC/USDT', 'm1'), '2024-01-01'];
  const { sources, seconds } = await json(...words);
  const months = (new Date().getUTCFullYear() - 2024) * 12 + new Date().getUTCMonth();
  const [archive, rest] = sources;
  expect(archive).toMatchObject({ source: 'binance-archive', unit: 'request' });
  // The newest month is there some days after its end.
  expect([months, months - 1]).toContain(archive.requests);
  expect(rest).toMatchObject({ source: 'binance', unit: 'weight', cost: 2 * rest.requests });
  expect(rest.requests).toBeLessThan(60);
  // What the budget of the rest allows says nothing of the time that files take.
  expect(archive.seconds).toBeNull();
  expect(seconds).toBeNull();
  expect(await dry(...words)).toMatch(
    /^missing ranges take \d+ requests to several sources at a time: as long as the files of binance-archive take$/m,
  );
});

it('counts credits, and warns when they will not do', async () => {
  const { env, url, dry, json, track } = await open(['coincap-v3'], {
    'coincap-v3': ', key-variable: COINCAP_KEY',
  });
  const words = [
    'history',
    '--source',
    'coincap-v3',
    '--asset',
    'bitcoin',
    '--from',
    '2024-01-01',
    '--interval',
  ];
  const days = await json(...words, 'd1', '--to', '2024-03-01');
  expect(days.sources).toMatchObject([{ source: 'coincap-v3', unit: 'credit', left: 4000 }]);
  expect(days.sources[0].cost).toBeLessThan(10);
  // 365 days of 1,440 rows of 142 bytes, and a request a day.
  const minutes = await json(...words, 'm1', '--to', '2024-12-31');
  expect(minutes.sources[0].cost).toBe(365 + Math.ceil((365 * 1440 * 142) / 2500));
  expect(await dry(...words, 'm1', '--to', '2024-12-31')).toMatch(
    /warning: coincap-v3 has 4,000 of 4,000 credits in 31 d left, and this needs about 30,220: it takes about 217 d/,
  );
  expect(await dry(...words, 'm1', '--to', '2024-01-03')).not.toContain('warning');
  // Each minute costs a request and what its answer adds: 44,640 minutes in 31 days.
  expect(await track(...words.slice(0, 5), '--from', '1d', '--interval', 'm1')).toMatchObject({
    exitCode: 0,
  });
  expect((await tidemark(['plan'], env)).stdout).toMatch(
    /warning: staying fresh needs about 89,\d{3} credits in 31 d, and coincap-v3 allows 4,000/,
  );
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 1,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(() => database.close());
  await database.pool.query(
    `insert into tidemark.fetches (time, dataset, lane, attempt, verdict, bytes, duration_ms, source)
     values (now(), 'asset_history', 'backfill', 1, 'filled', 2500 * 999, 1, 'coincap-v3')`,
  );
  expect((await json(...words, 'd1')).sources[0].left).toBe(3000);
});

it('says of each source how much staying fresh takes of its budget', async () => {
  const { env, track } = await open(['kraken', 'coinbase']);
  for (const source of ['kraken', 'coinbase'])
    expect(await track(...market(source, 'BTC/USD', 'm1'), '1h')).toMatchObject({ exitCode: 0 });
  const { stdout } = await tidemark(['plan'], env);
  expect(stdout).toMatch(/^staying fresh takes 2\.0\d requests a minute: 2\.00 for new periods/m);
  expect(stdout).toMatch(
    /^kraken: 1 request, .*; staying fresh takes 1\.0\d a minute, 1\.9 % of the budget$/m,
  );
  expect(stdout).toMatch(
    /^coinbase: 1 request, .*; staying fresh takes 1\.0\d a minute, 0\.2 % of the budget$/m,
  );
  const { fresh } = JSON.parse((await tidemark(['plan', '--json'], env)).stdout);
  expect(fresh).toMatchObject({ refreshPerMinute: 2, wantedEverySeconds: 60, everySeconds: 60 });
});
