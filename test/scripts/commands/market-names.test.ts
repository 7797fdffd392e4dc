import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startService } from '../command.ts';
import { type Directory, openVenues } from './watch-list-parts.ts';

const market = (base: string, quote: string, interval = 'h1') =>
  `--exchange binance --base ${base} --quote ${quote} --interval ${interval}`;
const hoursOf = (symbol: string) => `--source binance --symbol ${symbol} --interval h1`;
const since = '--from 2024-05-01';

/** Else `track` says that nothing is asked of the default source. */
const someSource = { SOURCE_URL: 'http://127.0.0.1:9/v2' };

/** Binance, and aliases in the watch list, which nobody applies. */
async function open(aliases = 'aliases: { BTC: bitcoin, USDT: tether }') {
  const opened = await openVenues(['binance']);
  const { list, query, run, say } = opened;
  const rest = (more: string) => list({}, more);
  rest(aliases);
  return {
    ...opened,
    rest,
    names: namesIn(query),
    bySymbol: (interval: string) =>
      say(`track candles --source binance --symbol BTC/USDT --interval ${interval} ${since}`),
    byNames: (base: string, quote: string, interval: string) =>
      say(`track candles ${market(base, quote, interval)} ${since}`, someSource),
    async refuses(words: string, line: string) {
      const stderr = expect.stringContaining(line);
      expect(await run(`track candles ${words} ${since}`)).toMatchObject({ exitCode: 2, stderr });
    },
  };
}

const namesIn = (query: Directory['query']) => async () => {
  const rows = await query(
    `select concat(exchange_id, ' ', base_id, '/', quote_id, ' ', interval) as name from tidemark.series order by id`,
  );
  return rows.map(({ name }) => name);
};

async function openPerpetuals() {
  const opened = await openVenues(['binance-usdm', 'binance-coinm']);
  return { ...opened, names: namesIn(opened.query) };
}

function twoHours(folder: string): string {
  const file = join(folder, 'BTCUSDT-1h-2024-05-01.csv');
  const row = (hour: number) => {
    const start = Date.UTC(2024, 4, 1, hour);
    return `${start},1.10,1.20,1.00,1.15,7,${start + 3_599_999},8,9,4,4,0`;
  };
  writeFileSync(file, `${row(0)}\n${row(1)}\n`);
  return file;
}

it('keeps one series of a market and an interval, whichever of its names a command has', async () => {
  const { directory, rest, names, say, bySymbol, byNames } = await open('aliases: {}');
  await bySymbol('h1');
  rest('aliases: { BTC: bitcoin, USDT: tether }');
  await byNames('bitcoin', 'tether', 'h1');
  expect(await names()).toEqual(['binance BTC/USDT h1']);
  // Another interval, by the ids that only the default source knows.
  await byNames('bitcoin', 'tether', 'd1');
  await bySymbol('h1');
  await bySymbol('d1');
  const both = ['binance BTC/USDT h1', 'binance bitcoin/tether d1'];
  expect(await names()).toEqual(both);
  await say(`import ${twoHours(directory)} --format binance ${market('bitcoin', 'tether')}`);
  rest(`aliases: { BTC: bitcoin, USDT: tether }
candles:
  - { exchange: binance, base: bitcoin, quote: tether, interval: [h1, d1], from: 2024-05-01 }
  - { source: binance, symbol: BTC/USDT, interval: [h1, d1], from: 2024-05-01 }`);
  await say('apply');
  expect(await names()).toEqual(both);
  await say('why binance bitcoin/tether h1');
  await say('why binance BTC/USDT d1');
});

it('keeps the series of a market under its name when aliases change, in commands and in the watch list', async () => {
  const { rest, names, say, bySymbol, refuses } = await open();
  // The aliases count before the list is applied.
  await bySymbol('h1');
  const one = ['binance bitcoin/tether h1'];
  for (const aliases of ['{ BTC: btc, USDT: tether }', '{}']) {
    rest(`aliases: ${aliases}`);
    await bySymbol('h1');
    expect(await names()).toEqual(one);
    rest(`aliases: ${aliases}
candles: [{ source: binance, symbol: BTC/USDT, interval: h1, from: 2024-05-01 }]`);
    await say('apply');
    expect(await names()).toEqual(one);
  }
  // A name of the user's own would make it two.
  const own = `${hoursOf('BTC/USDT')} --base btc --quote tether`;
  await refuses(own, 'BTCUSDT of binance is tracked as binance bitcoin/tether h1');
  await say('untrack binance bitcoin/tether h1');
  await say(`track candles ${own} ${since}`);
  expect(await names()).toContain('binance btc/tether h1');
});

it('never mixes two markets in one series', async () => {
  const { rest, names, run, say, refuses } = await open('aliases: { LTC: litecoin, USDT: money, BTC: money }');
  await say(`track candles ${hoursOf('LTC/USDT')} ${since}`);
  const words = (symbol: string) => `binance litecoin/money h1 is LTCUSDT of binance, and ${symbol} is another market`;
  await refuses(hoursOf('LTC/BTC'), words('LTCBTC'));
  await refuses(`${hoursOf('DOT/USDT')} --base litecoin --quote money`, words('DOTUSDT'));
  rest(`aliases: { LTC: litecoin, ETH: ethereum, USDT: money, BTC: money }
candles: [{ source: binance, symbol: ['LTC/*', 'ETH/*'], interval: h1, from: 2024-05-01 }]`);
  const { exitCode, stdout } = await run('apply');
  expect([exitCode, await names()]).toEqual([0, ['binance litecoin/money h1', 'binance ethereum/money h1']]);
  // One that is tracked, and two that are both new.
  expect(stdout).toContain(words('LTCBTC'));
  expect(stdout).toMatch(/left out: binance ethereum\/money h1 is ETH\w+ of binance, and ETH\w+ is another market/);
});

it('keeps a perpetual apart from the spot market of the same assets, in commands, files, SQL and the interface', async () => {
  const { directory, env, names, query, run, say, fails, json, refuses } = await open();
  const perpetual = market('bitcoin', 'tether:tether');
  const file = twoHours(directory);
  expect(await run(`import ${file} --format binance ${perpetual}`)).toMatchObject({ exitCode: 0, stderr: '' });
  await say(`track candles ${perpetual} ${since}`, someSource);
  await say(`track candles ${market('bitcoin', 'tether')} ${since}`, someSource);
  expect(await names()).toEqual(['binance bitcoin/tether:tether h1', 'binance bitcoin/tether h1']);
  const { series } = await json<{ series: object[] }>('status');
  expect(series).toMatchObject([
    { quoteId: 'tether', marketKind: 'spot' },
    { quoteId: 'tether:tether', marketKind: 'perpetual' },
  ]);
  expect(await json('gaps')).toMatchObject({
    gaps: [{ series: { marketKind: 'perpetual' } }, { series: { marketKind: 'spot' } }],
  });
  expect(await query(`select quote, count(*)::int as points from candles where interval = 'h1' group by 1`)).toEqual([
    { quote: 'tether:tether', points: 2 },
  ]);
  expect(await query(`select settle_id, expiry from tidemark.series where quote_id = 'tether:tether'`)).toEqual([
    { settle_id: 'tether', expiry: null },
  ]);

  await say(`lake ${directory}/lake`);
  expect(readdirSync(`${directory}/lake`, { recursive: true })).toContain(
    'dataset=candles/exchange=binance/interval=h1/year=2024/month=5/bitcoin_tether%3Atether.parquet',
  );
  const { address } = await startService(env);
  const rows = async (quote: string) => {
    const range = `start=${Date.UTC(2024, 4, 1)}&end=${Date.UTC(2024, 4, 2)}`;
    const named = `exchange=binance&interval=h1&baseId=bitcoin&quoteId=${quote}`;
    const answer = await fetch(`${address}/candles?${named}&${range}`);
    return (await answer.json()) as { data?: object[] };
  };
  expect((await rows('tether:tether')).data).toHaveLength(2);
  expect((await rows('tether')).data).toEqual([]);

  // The source has spot markets alone.
  await fails(`track candles ${hoursOf('BTC/USDT:USDT')} ${since}`, 4, 'binance has no perpetual markets');
  await fails(`track funding --source binance-coinm --symbol BTC/USD ${since}`, 4, 'such as BTC/USD:BTC');
  await refuses(
    `${hoursOf('BTC/USDT')} --quote tether:tether`,
    'BTCUSDT of binance is a spot market, and --quote tether:tether is a perpetual one',
  );
});

it('refuses names of another settlement than the list has, days that do not exist, and a dataset that a market lacks', async () => {
  const { directory, fails, list, names, say } = await openPerpetuals();
  expect(await say('markets --source binance-coinm --search BTC/USD:BTC')).toMatch(
    / BTCUSD_PERP +perpetual .*\n.* BTCUSD_300628 +future /,
  );
  const linear = '--source binance-usdm --symbol BTC/USDT:USDT';
  const inverse = '--source binance-coinm --symbol BTC/USD:BTC';
  const unsourced = market;
  const isNot = (given: string) => `BTCUSDT of binance-usdm is BTC/USDT:USDT, and not ${given}`;
  const file = twoHours(directory);
  const imported = (quote: string) => `import ${file} --format binance ${unsourced('BTC', quote)}`;
  const candles = (words: string) =>
    `track candles ${words} ${since}${words.includes('--interval') ? '' : ' --interval h1'}`;
  for (const [line, said] of [
    [candles(`${linear} --quote USDT:BTC`), isNot('BTC/USDT:BTC')],
    [candles(`${linear} --quote tether:bitcoin`), isNot('BTC/tether:bitcoin')],
    [candles(`${linear} --quote ETH:ETH`), isNot('BTC/ETH:ETH')],
    [candles(`${linear} --quote USDT:USD:X`), 'the quote "USDT:USD:X" is none: name it as tether'],
    [candles(`${linear} --quote USDT:USDT-300628`), 'is a perpetual market'],
    [
      candles('--source binance-usdm --symbol BTC/USDT:USDT-300628 --quote USDT:USDT-300629'),
      'is BTC/USDT:USDT-300628',
    ],
    [candles(`${inverse} --base bitcoin`), 'BTCUSD_PERP of binance-coinm is BTC/USD:BTC, and not bitcoin/USD:BTC'],
    [candles(unsourced('BTC', 'USDT:BTC')), 'binance lists BTC/USDT:USDT, and not BTC/USDT:BTC'],
    [candles(unsourced('BTC', 'USDT:USDT-991332')), '"USDT:USDT-991332" has an expiry that is no day'],
    [candles('--source binance-usdm --symbol BTC/USDT:USDT-990230'), '"USDT:USDT-990230" has an expiry that is no day'],
    [imported('USDT:BTC'), 'binance lists BTC/USDT:USDT, and not BTC/USDT:BTC'],
    [imported('USDT:USDT-991332'), '"USDT:USDT-991332" has an expiry that is no day'],
    [`track funding ${unsourced('BTC', 'USDT')} ${since}`, 'a spot market has no funding rates'],
    [`track open-interest ${unsourced('BTC', 'USDT')} ${since}`, 'a spot market has no open interest'],
    [`track funding ${unsourced('BTC', 'USDT:USDT-301227')} ${since}`, 'a future market has no funding rates'],
    [
      `track open-interest --source binance-coinm --symbol BTCUSD_300628 --interval h1 ${since}`,
      'binance-coinm gives no open interest of a future market such as BTCUSD_300628; name a perpetual market',
    ],
    // SOURCE_URL is not set.
    [
      `track long-short-ratios ${inverse} --interval h1 ${since}`,
      'gives no long short ratios; one of these gives them: binance-usdm-data, bybit-linear, okx-swap-data',
    ],
  ] as const)
    await fails(line, 2, said);
  expect(await names()).toEqual([]);
  // Any names that say the same.
  await say(candles(`${linear} --base bitcoin --quote tether:tether`));
  await say(candles(`${inverse} --base bitcoin --quote dollar:bitcoin`));
  list({}, 'aliases: { ETH: ether, USDT: tether }\n');
  await say(candles('--source binance-usdm --symbol ETH/USDT:USDT'));
  await say(candles(unsourced('ether', 'tether:tether', 'd1')), someSource);
  await fails(
    candles(unsourced('ether', 'tether:ether')),
    2,
    'binance lists ETH/USDT:USDT, and not ether/tether:ether',
  );
  expect(await names()).toEqual([
    'binance bitcoin/tether:tether h1',
    'binance bitcoin/dollar:bitcoin h1',
    'binance ether/tether:tether h1',
    'binance ether/tether:tether d1',
  ]);
  // A file of an export that says so.
  await say(`import ${file} --format binance ${market('ETH', 'USDT:USDT')}`);
  const path = join(directory, 'x.csv');
  await say(`export candles ${market('ETH', 'USDT:USDT')} --out ${path}`);
  const text = readFileSync(path, 'utf8').replaceAll('tether:tether', 'tether:ether');
  const sidecar = readFileSync(`${path}.meta.json`, 'utf8').replaceAll('tether:tether', 'tether:ether');
  const sha256 = createHash('sha256').update(text).digest('hex');
  writeFileSync(path, text);
  writeFileSync(`${path}.meta.json`, sidecar.replace(/(?<="sha256": ?")\w+/, sha256));
  await fails(`import ${path}`, 2, 'binance lists ETH/USDT:USDT, and not ether/tether:ether');
});

it('finds a stored market by the symbol of its source in export, why and verify, and refuses one of two', async () => {
  const { fails, list, say } = await openVenues(['binance', 'binance-usdm']);
  list({}, 'aliases: { BTC: bitcoin, USDT: tether }');
  const range = '--interval h1 --from 2024-05-01 --to 2024-05-02';
  await say(`backfill candles --source binance-usdm --symbol BTCUSDT ${range}`);
  const exported = (words: string) => say(`export candles ${words} --interval h1`);
  const perpetual = await exported('--exchange binance --base bitcoin --quote tether:tether');
  expect(perpetual.trimEnd().split('\n')).toHaveLength(25);
  for (const words of ['--symbol BTCUSDT', '--symbol btc/usdt:usdt', '--symbol bitcoin/tether:tether'])
    expect(await exported(words)).toBe(perpetual);
  expect(await say('why BTCUSDT h1')).toContain('binance bitcoin/tether:tether h1, id 1');

  await say(`backfill candles --source binance --symbol BTCUSDT ${range}`);
  const both = 'did you mean "binance bitcoin/tether:tether h1" or "binance bitcoin/tether h1"?';
  for (const words of ['export candles --symbol BTCUSDT --interval h1', 'why binance BTCUSDT h1', 'verify BTCUSDT h1'])
    await fails(words, 2, both);
  for (const words of ['--source binance-usdm --symbol BTCUSDT', '--exchange binance --symbol BTC/USDT:USDT'])
    expect(await exported(words)).toBe(perpetual);
  await say('verify binance-usdm BTCUSDT h1');
  for (const [words, exitCode, said] of [
    ['--symbol BTCUSDT --base bitcoin --interval h1', 2, '--symbol stands in place of --base and --quote'],
    ['--source binance --interval h1', 2, '--source needs --symbol'],
    ['--symbol BTCUSDT', 2, `required option '--interval <list>' not specified`],
    ['--interval h1', 2, `required option '--exchange <id>' not specified`],
    ['--source binance-usdm --symbol btcusdt --interval d1', 2, 'did you mean "binance bitcoin/tether:tether h1"'],
    ['--symbol ETHUSDT --interval h1', 2, 'no series has the id or the name "ETHUSDT h1"'],
  ] as const)
    await fails(`export candles ${words}`, exitCode, said);
});

it('offers a command whose words a shell takes as they are', async () => {
  const { run } = await open();
  const { stderr } = await run(`track candles ${hoursOf('$(id)/USDT')} ${since}`);
  expect(stderr).toContain("`tidemark markets --source binance --search '$(ID)'` lists its markets");
});
