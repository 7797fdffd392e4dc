import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { emptyDirectory, tidemark } from '../command.ts';
import { openWatched } from './watch-list-parts.ts';

const market = 'exchange: binance, base: bitcoin, quote: tether';

/** Its database is not there: the file is read first. */
const unused = { DATABASE_URL: 'postgres://127.0.0.1:1/none' };

it('ends in one line for a bad watch list, or with a line per problem, before any change', async () => {
  const directory = emptyDirectory();
  writeFileSync(join(directory, 'latin1.yaml'), Buffer.from('candles: [{ base: "kr\xf3na" }]', 'latin1'));
  writeFileSync(join(directory, 'typed.yaml'), 'candels: []');
  for (const [file, problem] of [
    ['other.yaml', 'other.yaml: there is no such file'],
    ['latin1.yaml', 'latin1.yaml is not UTF-8 text'],
    ['typed.yaml', 'typed.yaml:1:1: there is no "candels" here: did you mean "candles"?'],
  ] as const) {
    const ended = await tidemark(['apply'], { ...unused, WATCH_LIST: file }, directory);
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^tidemark: BAD_WATCH_LIST: [^\n]+; [^\n]+\n$/);
    expect(ended.stderr).toContain(`BAD_WATCH_LIST: ${problem}`);
  }
  const text = 'candles:\n  - { exchange: b, intervall: h1, from: 1y }\nlists: { assets: 1 }\n';
  writeFileSync(join(directory, 'tidemark.yaml'), text);
  const ended = await tidemark(['apply'], unused, directory);
  expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
  expect(ended.stderr.trimEnd().split('\n')).toEqual([
    expect.stringContaining('tidemark.yaml:2:5: interval is missing'),
    'tidemark.yaml:2:20: there is no "intervall" here: did you mean "interval"?',
    expect.stringContaining('tidemark.yaml:3:18: assets must be a length'),
    'tidemark: BAD_WATCH_LIST: 3 lines of tidemark.yaml are wrong, see above; correct the file; nothing was changed',
  ]);
});

const days = (from: number, to: number) => `from: 2024-03-0${from}, to: 2024-03-0${to}`;

type Changes = Record<string, unknown> & { readonly series: readonly Record<string, string>[] };

/** Names of the series that a document of changes has, by what happens to them. */
function changesIn(plan: Changes): Record<string, string[]> {
  const changes: Record<string, string[]> = {};
  for (const { change = '', exchange, baseId, quoteId, assetId, interval } of plan.series) {
    const name = exchange === undefined ? `${assetId} ${interval}` : `${exchange} ${baseId}/${quoteId} ${interval}`;
    changes[change] = [...(changes[change] ?? []), name];
  }
  return changes;
}

it('shows and makes the changes, and then has nothing to do', async () => {
  const { write, say, json, simulator, series } = await openWatched();
  const [first, second, third] = simulator.truth.assets(Date.now()).map(({ id }) => id);
  write(`
candles:
- { ${market}, interval: [m1, h1], ${days(1, 5)} }
- { exchange: kraken, quote: euro, interval: d1, ${days(1, 5)}, except: { base: lite* } }
- { exchange: coinbase, base: [bitcoin, ethereum], interval: w1, from: 1y }
history:
- { top: 3, interval: d1, ${days(1, 5)}, except: ${third} }
lists: { markets: 1h, rates: 10m, asset-markets: [{ top: 1, every: 1h }] }
read-again: { days: 2 }
`);
  const dry = await json<Changes>('apply --dry-run');
  expect(changesIn(dry)).toEqual({
    added: [
      ...['binance bitcoin/tether m1', 'binance bitcoin/tether h1'],
      ...['kraken bitcoin/euro d1', 'kraken ethereum/euro d1', 'kraken xrp/euro d1'],
      ...['coinbase bitcoin/united-states-dollar w1', 'coinbase bitcoin/usd-coin w1'],
      'coinbase ethereum/united-states-dollar w1',
      ...[`${first} d1`, `${second} d1`].sort(),
    ],
  });
  expect(dry.lists).toMatchObject([
    { change: 'added', list: 'markets', beforeSeconds: null, afterSeconds: 3600 },
    { change: 'changed', list: 'rates', afterSeconds: 600 },
    { change: 'added', list: 'asset_markets', asset: first },
  ]);
  expect(dry.notes).toEqual([]);
  // Nothing is tracked; the lists that it chose from were polled, a request a page: of each the last one is empty.
  expect(await series()).toEqual([]);
  expect((await json('status')).lists).toEqual([]);
  expect(simulator.requests().total).toBe(4);

  const text = await say('apply --dry-run');
  expect(text).toMatch(/^tidemark.yaml: 10 series added, 3 lists changed, settings changed\n/);
  expect(text).toContain('added: binance bitcoin/tether h1 from 2024-03-01 to 2024-03-05\n');
  expect(text).toContain('changed: rates every 10 min, was every 5 min\n');
  expect(text).toContain('read again: the last 2 days, was as configured\n');
  expect(text).toMatch(/\ndry run: nothing was changed\n$/);
  expect(await say('plan')).toContain('no series is tracked');

  expect(await say('apply')).toMatch(/\napplied\n$/);
  expect(await json('plan')).toEqual(dry.cost);
  expect(await say('apply')).toMatch(/^nothing to do: the database matches tidemark.yaml\n(?![\s\S]*applied)/);
  expect(simulator.requests().total).toBe(4);
  // What was only polled to choose from is nobody's decision.
  expect(await say('track lists')).toContain('tracking: assets, every 5 min\n');
});

it('narrows and stops series without losing points or coverage', async () => {
  const { write, say, json, series } = await openWatched();
  await say(
    'backfill candles --exchange binance --base bitcoin --quote tether --interval h1,d1 --from 2024-03-01 --to 2024-03-05',
  );
  await say('track history --asset tether --interval d1 --from 2024-03-01');
  await say('track exchanges');
  const [d1 = '', hourly = ''] = await series();
  expect(hourly).toMatch(/ tracked 96 \{\[2024-03-01 00:00,2024-03-05 00:00\)\}$/);

  write(`candles: [{ ${market}, interval: h1, ${days(2, 4)} }]`);
  const narrower = await json<Changes>('apply');
  expect(changesIn(narrower)).toEqual({ narrowed: ['binance bitcoin/tether h1'] });
  expect(narrower.left).toMatchObject({
    series: [{ interval: 'd1', exchange: 'binance' }, { assetId: 'tether' }],
    lists: [{ list: 'exchanges' }],
  });
  const narrowed = hourly.replace('[2024-03-01 00:00,2024-03-05 00:00) t', '[2024-03-02 00:00,2024-03-04 00:00) t');
  expect((await series()).slice(0, 2)).toEqual([d1, narrowed]);
  expect(await say('apply')).toContain(
    'left alone, not in the file (--prune stops them): 2 series (binance bitcoin/tether d1, tether d1) and 1 list (exchanges)\n',
  );

  write(`candles: [{ ${market}, interval: h1, ${days(1, 6)} }]\nprune: true`);
  const wider = await json<Changes>('apply --dry-run');
  expect(changesIn(wider)).toEqual({
    widened: ['binance bitcoin/tether h1'],
    stopped: ['binance bitcoin/tether d1', 'tether d1'],
  });
  // A day of it is not stored yet; what was narrowed off before still is.
  expect(wider.cost).toMatchObject({ requests: 1, datasets: [{ dataset: 'candles', series: 1, points: 24 }] });
  const text = await say('apply');
  expect(text).toContain('stopped: binance bitcoin/tether d1; stored data stays\n');
  expect(text).toContain('stopped: exchanges; stored data stays\n');
  expect((await series()).slice(0, 2)).toEqual([
    d1.replace(' tracked ', ' untracked '),
    hourly.replace('2024-03-05 00:00) t', '2024-03-06 00:00) t'),
  ]);
  expect(await say('apply')).toContain('nothing to do');
});

it('a retention that drops points must be confirmed; apply itself drops nothing', async () => {
  const { write, say, fails, json, query, series } = await openWatched();
  await say(
    'backfill candles --exchange binance --base bitcoin --quote tether --interval h1 --from 2024-03-01 --to 2024-03-05',
  );
  const retentions = () => query(`select name, value from tidemark.settings where name like 'retention.%'`);
  write(`candles: [{ ${market}, interval: [h1, d1], from: 2024-03-01 }]\nretention: { candles: 1y, history: 2y }`);
  expect(await say('apply --dry-run')).toMatch(
    /retention: candles 1y, was forever; drops every point from before [\s\S]+note: the retention of 1y keeps nothing before [-0-9]+, which shortens binance bitcoin\/tether d1\n/,
  );
  const before = await series();
  await fails('apply', 2, /^tidemark: BAD_ARGUMENT: The retention of 1y drops [^\n]*; add --confirm candles [^\n]*\n$/);
  await fails('apply --confirm candle', 2, 'BAD_ARGUMENT');
  expect(await series()).toEqual(before);
  expect(await retentions()).toEqual([]);

  const done = await json<Changes>('apply --confirm candles');
  expect(done.cut).toMatchObject([{ dataset: 'candles', age: '1y', series: [{ interval: 'd1' }] }]);
  expect(await retentions()).toHaveLength(2);
  const [d1, h1] = await series();
  // What is new begins where it is kept from; the rest goes when retention is applied.
  expect(d1).not.toContain('[2024-03-01');
  expect(h1).toMatch(/\[2024-03-01 00:00,\) tracked 96 /);
});
