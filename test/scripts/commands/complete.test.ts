import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../store/db/database.ts';
import { storeMarkets } from '../../../store/series/sources.ts';
import { createMigratedDatabase, type TestDatabase } from '../../parts/test-database.ts';
import { emptyDirectory, market, program, tidemark } from '../command.ts';
import { runInProcess } from '../in-process.ts';

/** The suggested words, each with its description. */
async function suggested(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const ended = await runInProcess(['complete', '--', ...words], env);
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  const lines = ended.stdout.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
  return lines.map((line) => line.split('\t'));
}

async function suggestedWords(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return (await suggested(words, env)).map(([word]) => word).sort();
}

it('suggests commands, subcommands and options', async () => {
  expect((await suggested(['re'])).map(([word]) => word)).toEqual(['repair', 'retry', 'resume', 'retention']);
  const lists = (await suggested(['track', ''])).map(([word]) => word);
  expect(lists).toEqual(expect.arrayContaining(['candles', 'history', 'lists']));
  expect(await suggested(['track', 'candles', '--exch'])).toEqual([
    ['--exchange', 'exchange, such as binance'],
  ]);
  expect((await suggested(['status', '--w'])).map(([word]) => word)).toEqual(['--watch']);
});

it('suggests the shells of `complete`', async () => {
  expect(await suggestedWords(['complete', ''])).toEqual(['bash', 'fish', 'zsh']);
});

let names: TestDatabase;
beforeAll(async () => {
  names = await createMigratedDatabase();
});
afterAll(() => names.drop());

/** Four series, in a database that all tests share. */
async function withSeries(): Promise<Record<string, string>> {
  const { url } = names;
  const env = { DATABASE_URL: url };
  const from = ['--from', '30d'];
  await tidemark(['track', 'candles', ...market, '--interval', 'h1,d1', ...from], env);
  const other = ['--exchange', 'kraken', '--base', 'ethereum', '--quote', 'euro'];
  await tidemark(['track', 'candles', ...other, '--interval', 'm1', ...from], env);
  await tidemark(['track', 'history', '--asset', 'ethereum', '--interval', 'd1', ...from], env);
  return env;
}

it('suggests the names of series word by word', async () => {
  const env = await withSeries();
  for (const command of ['why', 'verify', 'repair', 'untrack']) {
    expect(await suggestedWords([command, 'b'], env)).toEqual(['binance']);
    expect(await suggestedWords([command, 'eth'], env)).toEqual(['ethereum']);
    expect(await suggestedWords([command, 'binance', 'bit'], env)).toEqual(['bitcoin/tether']);
    expect(await suggestedWords([command, 'binance', 'bitcoin/tether', ''], env)).toEqual(['d1', 'h1']);
    expect(await suggestedWords([command, 'ethereum', ''], env)).toEqual(['d1']);
    expect(await suggestedWords([command, 'ethereum', 'd1', ''], env)).toEqual([]);
  }
  expect(await suggestedWords(['why', ''], env)).toEqual(['binance', 'ethereum', 'kraken']);
  expect(await suggestedWords(['verify', '--sample', '5', '--json', 'kraken', ''], env)).toEqual([
    'ethereum/euro',
  ]);
});

it('suggests the ids of series, described by their names, when the word begins with a digit', async () => {
  const env = await withSeries();
  expect(await suggested(['why', '1'], env)).toEqual([['1', 'binance bitcoin/tether h1']]);
  expect(await suggestedWords(['verify', '1', '2'], env)).toEqual(['2']);
  expect(await suggestedWords(['why', '1', '2'], env)).toEqual([]);
});

it('suggests only tracked series for untrack', async () => {
  const env = await withSeries();
  await tidemark(['untrack', 'ethereum', 'd1'], env);
  onTestFinished(async () => void (await withSeries()));
  expect(await suggestedWords(['untrack', 'e'], env)).toEqual(['exchanges']);
  expect(await suggestedWords(['untrack', '4'], env)).toEqual([]);
  expect(await suggestedWords(['why', 'e'], env)).toEqual(['ethereum']);
});

it('suggests the values of options that name series', async () => {
  const env = await withSeries();
  const candles = ['export', 'candles'];
  expect(await suggestedWords([...candles, '--exchange', ''], env)).toEqual(['binance', 'kraken']);
  expect(await suggestedWords([...candles, '--exchange=k'], env)).toEqual(['kraken']);
  expect(await suggestedWords([...candles, '--base', ''], env)).toEqual(['bitcoin', 'ethereum']);
  expect(await suggestedWords([...candles, '--exchange', 'binance', '--base', ''], env)).toEqual(['bitcoin']);
  expect(await suggestedWords(['export', 'history', '--asset', ''], env)).toEqual(['ethereum']);
  expect(await suggestedWords([...candles, '--interval', 'w'])).toEqual(['w1']);
  expect(await suggestedWords(['export', 'history', '--interval', 'w'])).toEqual([]);
});

it('suggests sources, and the stored markets of one', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url };
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 1,
    statementTimeoutMs: 5000,
  });
  const market = (base: string) => ({
    symbol: `${base}USDT`,
    base,
    quote: 'USDT',
    listedMs: null,
    isTrading: true,
  });
  await storeMarkets(database, 'binance', [market('BTC'), market('ETH')], Date.now());
  await database.close();
  expect(await suggestedWords(['backfill', 'candles', '--source', 'bi'], env)).toEqual([
    'binance',
    'binance-archive',
    'binance-archive-daily',
  ]);
  expect(await suggestedWords(['markets', '--source', 'ok'], env)).toEqual(['okx']);
  expect(await suggestedWords(['verify', '--against', 'kr'], env)).toEqual(['kraken']);
  const at = (source: string) => ['track', 'candles', '--source', source, '--symbol', ''];
  expect(await suggestedWords(at('binance'), env)).toEqual(['BTC/USDT', 'ETH/USDT']);
  expect(await suggestedWords(at('okx'), env)).toEqual([]);
});

it('suggests no series without a database', async () => {
  expect(await suggested(['why', ''])).toEqual([]);
  expect(await suggested(['why', ''], { DATABASE_URL: 'postgres://127.0.0.1:1/none' })).toEqual([]);
});

/** Runs bash where the completion script is loaded, without any other completion. */
async function inBash(commands: string, env: Readonly<Record<string, string>> = {}) {
  const directory = emptyDirectory();
  const { stdout: script } = await runInProcess(['complete', 'bash'], {});
  writeFileSync(join(directory, 'completion.bash'), script);
  const tidemarkFunction = `tidemark() { '${process.execPath}' '${program}' "$@"; }`;
  const lines = ['source ./completion.bash', tidemarkFunction, commands].join('\n');
  const { stdout, stderr } = await promisify(execFile)('bash', ['--noprofile', '--norc', '-c', lines], {
    cwd: directory,
    env: { PATH: process.env.PATH, ...env },
  });
  expect(stderr).toBe('');
  return { directory, stdout };
}

/** What bash would insert for the last of its words, which are the user's text, quotes included. */
function completing(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const run = `$(complete -p tidemark | sed 's/.*-F \\([^ ]*\\).*/\\1/')`;
  return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; ${run}; printf '%s\n' "\${COMPREPLY[@]}"`;
}

it('runs no code of the typed words in bash', async () => {
  const { directory } = await inBash(completing(['tidemark', 'why', '"$(touch ran)"', '`touch ran`', '']));
  expect(existsSync(join(directory, 'ran'))).toBe(false);
});

it('completes in bash, where = and : end a word, without the package bash-completion', async () => {
  const env = await withSeries();
  const completed = async (...words: string[]) =>
    (await inBash(completing(['tidemark', ...words]), env)).stdout.trim().split('\n');
  expect(await completed('why', 'binance', 'bit')).toEqual(['bitcoin/tether']);
  expect(await completed('stat')).toEqual(['status']);
  expect(await completed('export', 'candles', '--exchange', '=', 'k')).toEqual(['kraken']);
  expect(await completed('export', 'candles', '--exchange', '=')).toEqual(['binance', 'kraken']);
  expect(await completed('export', 'candles', '--exchange=k')).toEqual(['--exchange=kraken']);
});

it('quotes the names of series in bash, which are the source’s, and completes across a colon', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url };
  const foreign = ['--exchange', '$(touch ran)', '--base', 'a:bc', '--quote', 'x'];
  await tidemark(['track', 'candles', ...foreign, '--interval', 'm1', '--from', '30d'], env);
  const twice = 'source ./completion.bash; ';
  const { stdout } = await inBash(
    twice + completing(['tidemark', 'export', 'candles', '--exchange', '']),
    env,
  );
  expect(stdout.split('\n')).toContain('\\$\\(touch\\ ran\\)');
  const colon = await inBash(completing(['tidemark', 'export', 'candles', '--base', 'a', ':', 'b']), env);
  expect(colon.stdout).toBe('bc\n');
});

it('prints scripts for zsh and fish', async () => {
  for (const shell of ['zsh', 'fish'])
    expect((await runInProcess(['complete', shell], {})).stdout).toMatch(new RegExp(`^#.*${shell}`, 'm'));
});
