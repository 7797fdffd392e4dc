import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { emptyDirectory, market, start, tidemark } from '../command.ts';

/** The suggested words, each with its description. */
async function suggested(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const ended = await start(['complete', '--', ...words], env).ended;
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  const lines = ended.stdout.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
  return lines.map((line) => line.split('\t'));
}

it('suggests commands, subcommands and options', async () => {
  expect((await suggested(['re'])).map(([word]) => word)).toEqual(['repair', 'retention']);
  const lists = (await suggested(['track', ''])).map(([word]) => word);
  expect(lists).toEqual(expect.arrayContaining(['candles', 'history', 'lists']));
  expect(await suggested(['track', 'candles', '--exch'])).toEqual([
    ['--exchange', 'exchange, such as binance'],
  ]);
  expect((await suggested(['status', '--w'])).map(([word]) => word)).toEqual(['--watch']);
});

it('suggests the ids of series, described by their names, and none without a database', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url };
  const series = [...market, '--interval', 'h1,d1'];
  await tidemark(['track', 'candles', ...series, '--from', '30d'], env);
  for (const command of ['why', 'verify', 'repair', 'untrack'])
    expect(await suggested([command, ''], env)).toEqual(
      expect.arrayContaining([
        ['1', 'binance bitcoin/tether h1'],
        ['2', 'binance bitcoin/tether d1'],
      ]),
    );
  expect(await suggested(['why', ''])).toEqual([]);
  expect(await suggested(['why', ''], { DATABASE_URL: 'postgres://127.0.0.1:1/none' })).toEqual([]);
});

it('prints a script that bash accepts', async () => {
  const { stdout } = await start(['complete', 'bash'], {}).ended;
  const file = join(emptyDirectory(), 'completion.bash');
  writeFileSync(file, stdout);
  execFileSync('bash', ['-n', file]);
  expect(stdout).toContain('tidemark complete --');
  expect(await start(['complete', 'ksh'], {}).ended).toMatchObject({ exitCode: 2 });
});
