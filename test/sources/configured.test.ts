import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { configuredSources } from '../../runtime/sources.ts';
import { readConfig } from '../../settings/config.ts';

function read(text: string) {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-configured-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'tidemark.yaml');
  writeFileSync(file, text);
  return configuredSources(readConfig({ WATCH_LIST: file }));
}

const archives = 'binance-archive, binance-archive-daily';

it.each([
  ['binance: { archive: kraken }', `has an archive, kraken, without its files: use one of ${archives}`],
  ['kraken: { archive: binance-archive }', 'has an archive, but no source has files of kraken: leave it out'],
  ['coincap-v3: { key-variable: A, key-file: b }', 'has key-variable and key-file: leave one out'],
  ['kraken: { key-variable: A }', 'has a key, but kraken uses none: leave key-variable out'],
  ['binance: { credits: 10 }', 'has credits, but binance has none: budget limits what is used each minute'],
])('refuses an option that has no effect: %s', async (entry, message) => {
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
  expect(sources.get('mirror')?.archive).toBe('months');
});
