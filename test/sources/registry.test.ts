import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { datasetNames } from '../../model/datasets/index.ts';
import { dayMs, hourMs } from '../../model/intervals.ts';
import { readRegistry } from '../../runtime/sources.ts';
import { readConfig } from '../../settings/config.ts';
import { readDefaultRanges } from '../../watch-list/source-entries.ts';

function fileOf(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-configured-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'tidemark.yaml');
  writeFileSync(file, text);
  return file;
}

const read = (text: string) => readRegistry(readConfig({ WATCH_LIST: fileOf(text) }));

const archives = 'binance-archive, binance-archive-daily';

it.each([
  ['binance: { archive: kraken }', `has an archive, kraken, without its files: use one of ${archives}`],
  ['kraken: { archive: binance-archive }', 'has an archive, but no source has files of kraken: leave it out'],
  ['coincap-v3: { key-variable: A, key-file: b }', 'has key-variable and key-file: leave one out'],
  ['kraken: { key-variable: A }', 'has a key, but kraken uses none: leave key-variable out'],
  [
    'binance: { ranges: { candles: { m1: 1d } } }',
    'has ranges: only the source default has, the others follow their profiles',
  ],
  ['default: { budget: 100 }', 'is SOURCE_URL: it has nothing but ranges here, and its key and budget are variables'],
  ['binance: { credits: 10 }', 'has credits, but binance has none: budget limits what is used each minute'],
])('refuses an entry that has no effect: %s', async (entry, message) => {
  await expect(read(`sources: { ${entry} }`)).rejects.toMatchObject({
    code: 'BAD_WATCH_LIST',
    message: expect.stringMatching(new RegExp(`: the source "[a-z0-9-]+" ${message}$`)),
  });
});

it('accepts an archive that a later entry describes', async () => {
  const sources = await read(`
sources:
  mirror: { profile: binance, url: 'http://127.0.0.1:1', archive: months }
  months: { profile: binance-archive, url: 'http://127.0.0.1:2' }
`);
  expect(sources.get('mirror').facts.archive).toBe('months');
});

it('reads the longest ranges of the default source, in whole periods', async () => {
  const ranges = (text: string) => readDefaultRanges(fileOf(text));
  const text = 'sources: { default: { ranges: { candles: { m1: 12h, h8: 30h }, history: { d1: 365d } } }, kraken: {} }';
  expect(await ranges(text)).toMatchObject({
    candles: { m1: 12 * hourMs, h8: 24 * hourMs },
    asset_history: { d1: 365 * dayMs },
  });
  expect((await read(text)).all().map(({ facts }) => facts.name)).toContain('default');
  expect(await ranges('lists: { rates: 5m }')).toEqual(Object.fromEntries(datasetNames.map((name) => [name, {}])));
  for (const wrong of ['m1: 30s', 'm1: 15d', 'm1: long'])
    await expect(ranges(`sources: { default: { ranges: { candles: { ${wrong} } } } }`)).rejects.toThrow(
      'm1 must be a length of 1 to 20000 periods of m1, such as 30d',
    );
});

it('takes the budget with a key for a source whose entry names one, also where only workers can read it', async () => {
  const mirror = (key: string) =>
    `sources: { mirror: { profile: market-data-service, url: 'http://127.0.0.1:1'${key} } }`;
  const perMinute = async (key: string) => (await read(mirror(key))).get('mirror').facts.requestsPerMinute;
  expect(await perMinute(`, key-file: ${fileOf('secret\n')}`)).toBe(500);
  expect(await perMinute(', key-file: /no/such/file')).toBe(500);
  expect(await perMinute(', key-variable: NO_SUCH_KEY')).toBe(500);
  expect(await perMinute('')).toBe(200);
});

it('says that a key is missing where its file or its variable is empty', async () => {
  process.env.EMPTY_KEY = '';
  onTestFinished(() => {
    delete process.env.EMPTY_KEY;
  });
  const problem = async (key: string) => (await read(`sources: { coincap-v3: { ${key} } }`)).get('coincap-v3').problem;
  const file = fileOf('\n');
  expect(await problem(`key-file: ${file}`)).toBe(`no key: ${file} is empty or cannot be read`);
  expect(await problem('key-variable: EMPTY_KEY')).toBe('no key: EMPTY_KEY is not set');
});
