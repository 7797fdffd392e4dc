import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startVenueSimulator } from '../../../simulator/venues/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { tidemark } from '../command.ts';

/** Binance, and aliases in the watch list, which nobody applies. */
async function open(aliases = 'aliases: { BTC: bitcoin, USDT: tether }') {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startVenueSimulator({ profile: 'binance' });
  onTestFinished(() => simulator.close());
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-names-'));
  const list = join(folder, 'tidemark.yaml');
  const write = (more: string) =>
    writeFileSync(list, `sources: { binance: { url: '${simulator.url}' } }\n${more}\n`);
  write(aliases);
  const env = {
    DATABASE_URL: url,
    WATCH_LIST: list,
    RATES_SECONDS: '0',
    SOURCE_URL: 'http://127.0.0.1:1/v2',
  };
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 1,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(() => database.close());
  const names = async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      `select exchange_id || ' ' || base_id || '/' || quote_id || ' ' || interval as name from tidemark.series order by id`,
    );
    return rows.map(({ name }) => name);
  };
  const run = async (...words: string[]) =>
    expect(await tidemark(words, env)).toMatchObject({ exitCode: 0, stderr: '' });
  const bySymbol = (interval: string) =>
    run(
      'track',
      'candles',
      '--source',
      'binance',
      '--symbol',
      'BTC/USDT',
      '--interval',
      interval,
      '--from',
      '2024-05-01',
    );
  const byNames = (base: string, quote: string, interval: string) =>
    run('track', 'candles', ...market(base, quote, interval), '--from', '2024-05-01');
  const count = async (base: string, quote: string) => {
    const { rows } = await database.pool.query<{ count: number }>(
      `select count(*)::int from candles('binance', $1, $2, 'h1', '2024-05-01Z', '2024-05-02Z') where close is not null`,
      [base, quote],
    );
    return rows[0]?.count;
  };
  const refuse = (...words: string[]) =>
    tidemark(['track', 'candles', ...words, '--from', '2024-05-01'], env);
  const apply = () => tidemark(['apply'], env);
  return { folder, write, names, run, refuse, apply, bySymbol, byNames, count };
}

const market = (base: string, quote: string, interval = 'h1') => [
  '--exchange',
  'binance',
  '--base',
  base,
  '--quote',
  quote,
  '--interval',
  interval,
];

const hoursOf = (symbol: string) => ['--source', 'binance', '--symbol', symbol, '--interval', 'h1'];

/** A file of Binance's archive. */
function twoHours(folder: string): string {
  const file = join(folder, 'BTCUSDT-1h-2024-05-01.csv');
  const row = (hour: number) => {
    const start = Date.UTC(2024, 4, 1, hour);
    return `${start},1.10,1.20,1.00,1.15,7,${start + 3_599_999},8,9,4,4,0`;
  };
  writeFileSync(file, `${row(0)}\n${row(1)}\n`);
  return file;
}

it('names a series by the aliases of the watch list, before it is applied', async () => {
  const { names, bySymbol } = await open();
  await bySymbol('h1');
  expect(await names()).toEqual(['binance bitcoin/tether h1']);
});

it('keeps one series of a market and an interval, whichever of its names a command has', async () => {
  const { folder, write, names, run, bySymbol, byNames } = await open('aliases: {}');
  await bySymbol('h1');
  write('aliases: { BTC: bitcoin, USDT: tether }');
  await byNames('bitcoin', 'tether', 'h1');
  expect(await names()).toEqual(['binance BTC/USDT h1']);
  // Another interval, by the ids that only the default source knows.
  await byNames('bitcoin', 'tether', 'd1');
  await bySymbol('h1');
  await bySymbol('d1');
  const both = ['binance BTC/USDT h1', 'binance bitcoin/tether d1'];
  expect(await names()).toEqual(both);
  // A file, and an entry of the watch list.
  await run('import', twoHours(folder), '--format', 'binance', ...market('bitcoin', 'tether'));
  write(`aliases: { BTC: bitcoin, USDT: tether }
candles:
  - { exchange: binance, base: bitcoin, quote: tether, interval: [h1, d1], from: 2024-05-01 }
  - { source: binance, symbol: BTC/USDT, interval: [h1, d1], from: 2024-05-01 }`);
  await run('apply');
  expect(await names()).toEqual(both);
  // Each is found by both names.
  await run('why', 'binance bitcoin/tether h1');
  await run('why', 'binance BTC/USDT d1');
});

it.each([
  ['codes', ['BTC', 'USDT'], ['bitcoin', 'tether']],
  ['ids', ['bitcoin', 'tether'], ['BTC', 'USDT']],
  ['one of each', ['BTC', 'tether'], ['bitcoin', 'USDT']],
] as const)(
  'keeps one series of a market that a file gave by %s, though no source has listed it',
  async (_, [base, quote], [otherBase, otherQuote]) => {
    const { folder, names, run, byNames, count } = await open();
    const file = twoHours(folder);
    await run('import', file, '--format', 'binance', ...market(base, quote));
    await run('import', file, '--format', 'binance', ...market(otherBase, otherQuote));
    await byNames(otherBase, otherQuote, 'h1');
    expect(await names()).toEqual([`binance ${base}/${quote} h1`]);
    expect([await count(base, quote), await count(otherBase, otherQuote)]).toEqual([2, 2]);
  },
);

it('keeps the series of a market under its name when aliases change, in commands and in the watch list', async () => {
  const { write, names, run, bySymbol, refuse } = await open();
  await bySymbol('h1');
  const one = ['binance bitcoin/tether h1'];
  for (const aliases of ['{ BTC: btc, USDT: tether }', '{}']) {
    write(`aliases: ${aliases}`);
    await bySymbol('h1');
    expect(await names()).toEqual(one);
    write(`aliases: ${aliases}
candles: [{ source: binance, symbol: BTC/USDT, interval: h1, from: 2024-05-01 }]`);
    await run('apply');
    expect(await names()).toEqual(one);
  }
  // A name of the user's own would make it two.
  const named = await refuse(...hoursOf('BTC/USDT'), '--base', 'btc', '--quote', 'tether');
  expect(named).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('BTCUSDT of binance is tracked as binance bitcoin/tether h1'),
  });
  await run('untrack', 'binance bitcoin/tether h1');
  await run(
    'track',
    'candles',
    ...hoursOf('BTC/USDT'),
    '--base',
    'btc',
    '--quote',
    'tether',
    '--from',
    '2024-05-01',
  );
  expect(await names()).toContain('binance btc/tether h1');
});

it('never mixes two markets in one series', async () => {
  const { write, names, run, refuse, apply } = await open(
    'aliases: { LTC: litecoin, USDT: money, BTC: money }',
  );
  await run('track', 'candles', ...hoursOf('LTC/USDT'), '--from', '2024-05-01');
  const words = (symbol: string) =>
    `binance litecoin/money h1 is LTCUSDT of binance, and ${symbol} is another market`;
  expect(await refuse(...hoursOf('LTC/BTC'))).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(words('LTCBTC')),
  });
  expect(await refuse(...hoursOf('DOT/USDT'), '--base', 'litecoin', '--quote', 'money')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(words('DOTUSDT')),
  });
  write(`aliases: { LTC: litecoin, ETH: ethereum, USDT: money, BTC: money }
candles: [{ source: binance, symbol: ['LTC/*', 'ETH/*'], interval: h1, from: 2024-05-01 }]`);
  const { exitCode, stdout } = await apply();
  expect([exitCode, await names()]).toEqual([0, ['binance litecoin/money h1', 'binance ethereum/money h1']]);
  // One that is tracked, and two that are both new.
  expect(stdout).toContain(words('LTCBTC'));
  expect(stdout).toMatch(
    /left out: binance ethereum\/money h1 is ETH\w+ of binance, and ETH\w+ is another market/,
  );
});
