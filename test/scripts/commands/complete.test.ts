import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { profiles } from '../../../sources/profiles/profiles.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { storeMarkets } from '../../../store/series/sources.ts';
import { useStore } from '../../store/open-store.ts';
import { emptyDirectory, program } from '../command.ts';
import { runInProcess } from '../in-process.ts';

/** Names that a source may have, as far as a shell is concerned. */
const foreign = '$(touch ran)';

const store = useStore();
let env: Record<string, string>;
beforeAll(async () => {
  env = { DATABASE_URL: store.url };
  const candles = { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether' } as const;
  for (const series of [
    { ...candles, interval: 'h1' },
    { ...candles, interval: 'd1' },
    { ...candles, exchange: 'kraken', baseId: 'ethereum', quoteId: 'euro', interval: 'm1' },
    { dataset: 'asset_history', assetId: 'ethereum', interval: 'd1' },
    { ...candles, exchange: foreign, baseId: 'a:bc', quoteId: 'x', interval: 'm1' },
  ] as const)
    await trackSeries(store.database, series, 0, null);
  const listed = { quote: 'USDT', listedMs: null, isTrading: true, contract: null };
  const markets = ['BTC', 'ETH'].map((base) => ({ ...listed, base, symbol: `${base}USDT` }));
  await storeMarkets(store.database, 'binance', markets, Date.now());
});

/** The suggested words, each with its description, for the last word of a line. */
async function suggested(line: string, variables = env): Promise<string[][]> {
  const ended = await runInProcess(['complete', '--', ...line.split(' ')], variables);
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  const lines = ended.stdout.split('\n').filter((text) => text !== '' && !text.startsWith(':'));
  return lines.map((text) => text.split('\t'));
}

const words = async (line: string, variables = env) => (await suggested(line, variables)).map(([word]) => word).sort();

it.each<[string, string[]]>([
  ['re', ['repair', 'resume', 'retention', 'retry']],
  ['complete ', ['bash', 'fish', 'zsh']],
  ...['why', 'untrack'].flatMap((command): [string, string[]][] => [
    [`${command} b`, ['binance']],
    [`${command} eth`, ['ethereum']],
    [`${command} binance bit`, ['bitcoin/tether']],
    [`${command} binance bitcoin/tether `, ['d1', 'h1']],
    [`${command} ethereum `, ['d1']],
    [`${command} ethereum d1 `, []],
  ]),
  ['why ', ['$(touch', 'binance', 'ethereum', 'kraken']],
  ['verify 1 2', ['2']],
  ['export candles --exchange ', [foreign, 'binance', 'kraken']],
  ['export candles --exchange binance --base ', ['bitcoin']],
  ['export history --interval w', []],
  [
    'backfill candles --source bi',
    Object.keys(profiles)
      .filter((name) => name.startsWith('bi'))
      .sort(),
  ],
  ['verify --against kr', ['kraken']],
  ['track candles --source binance --symbol ', ['BTC/USDT', 'ETH/USDT']],
])('suggests words for "%s"', async (line, expected) => expect(await words(line)).toEqual(expected));

it('describes options, and the ids of series by their names', async () => {
  expect(await suggested('track candles --exch')).toEqual([['--exchange', 'exchange, such as binance']]);
  expect(await suggested('why 1')).toEqual([['1', 'binance bitcoin/tether h1']]);
});

/** What bash inserts for the last of the words of each line, which are the user's text, quotes included. */
async function inBash(...lines: readonly (readonly string[])[]) {
  const directory = emptyDirectory();
  const { stdout: script } = await runInProcess(['complete', 'bash'], {});
  writeFileSync(join(directory, 'completion.bash'), script);
  const run = `$(complete -p tidemark | sed 's/.*-F \\([^ ]*\\).*/\\1/')`;
  const commands = lines.map((line) => {
    const quoted = ['tidemark', ...line].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${quoted}); COMP_CWORD=${line.length}; ${run}; printf '%s\\n' "\${COMPREPLY[@]}"; echo --`;
  });
  // Loading it twice must do no harm. No other completion is loaded.
  const load = 'source ./completion.bash; source ./completion.bash';
  const tidemarkFunction = `tidemark() { '${process.execPath}' '${program}' "$@"; }`;
  const text = [load, tidemarkFunction, ...commands].join('\n');
  const { stdout, stderr } = await promisify(execFile)('bash', ['--noprofile', '--norc', '-c', text], {
    cwd: directory,
    env: { PATH: process.env.PATH, ...env },
  });
  expect(stderr).toBe('');
  // What a user has typed, and the names of a source, are no code.
  expect(existsSync(join(directory, 'ran'))).toBe(false);
  return stdout.split('--\n').map((part) => part.trimEnd().split('\n').sort());
}

it('completes in bash, where = and : end a word, without the package bash-completion, and quotes foreign names', async () => {
  const candles = ['export', 'candles'];
  const quoted = '\\$\\(touch\\ ran\\)';
  const found = await inBash(
    ['stat'],
    ['why', 'binance', 'bit'],
    [...candles, '--exchange', '=', 'k'],
    [...candles, '--exchange', '='],
    [...candles, '--exchange=k'],
    [...candles, '--base', 'a', ':', 'b'],
    ['why', '"$(touch ran)"', '`touch ran`', ''],
  );
  expect(found.slice(0, 6)).toEqual([
    ['status'],
    ['bitcoin/tether'],
    ['kraken'],
    [quoted, 'binance', 'kraken'],
    ['--exchange=kraken'],
    ['bc'],
  ]);
});

it('prints scripts for zsh and fish', async () => {
  for (const shell of ['zsh', 'fish'])
    expect((await runInProcess(['complete', shell], {})).stdout).toMatch(new RegExp(`^#.*${shell}`, 'm'));
});
