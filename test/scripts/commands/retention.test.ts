import { expect, it } from 'vitest';
import { datasetNames } from '../../../model/datasets/index.ts';
import { openWatched } from './watch-list-parts.ts';

it('is off by default, must be confirmed by name, limits later tracking, and can be switched off', async () => {
  const { run, say, json, query } = await openWatched();
  const settings = () => query(`select name, value from tidemark.settings where name like 'retention.%'`);
  expect((await say('retention')).match(/ forever /g)).toHaveLength(1 + datasetNames.length);
  expect(await say('status')).not.toMatch(/^retention:/m);
  const refuses = async (words: string, part: string) => {
    const ended = await run(words);
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^tidemark: BAD_ARGUMENT: [^\n]*\n$/);
    expect(ended.stderr).toContain(part);
  };
  for (const [words, part] of [
    ['candles 2y', 'add --confirm candles'],
    ['candles 2y --confirm history', '"history" does not confirm it'],
    [
      'candle 2y --confirm candle',
      'one of candles, history, mark-candles, index-candles, premium-candles, funding, open-interest, long-short-ratios, rates, not "candle"',
    ],
    ['candles 2024-01-01 --confirm candles', 'the age "2024-01-01"'],
  ] as const)
    await refuses(`retention set ${words}`, part);
  expect(await settings()).toEqual([]);

  await say('retention set candles 2y --confirm candles');
  expect(await settings()).toEqual([{ name: 'retention.candles', value: '2y' }]);
  const { retention } = await json<{ retention: { nothingBefore: string }[] }>('status');
  expect(retention).toMatchObject([{ dataset: 'candles', age: '2y' }]);
  const cut = retention[0]?.nothingBefore ?? '';
  const day = cut.slice(0, 10);
  expect(await say('status')).toContain(`retention: candles for 2y (nothing before ${day})`);
  expect(await say('retention show')).toContain(day);

  const track = 'track candles --exchange x --base a --quote b --interval';
  const cutOff = await run(`${track} d1 --from 11y`);
  expect(cutOff.exitCode).toBe(0);
  expect(cutOff.stderr).toMatch(/^tidemark: the retention of 2y keeps nothing before [^\n]*\n$/);
  expect(await json('status')).toMatchObject({ series: [{ tracked: { from: cut } }] });
  // What is younger is tracked as it is asked for, and what is wholly older is refused.
  await say(`${track} h1 --from 1y`);
  await refuses(`${track} m1 --from 11y --to 10y`, '--to ');
  // Other datasets are kept for good.
  await say('track history --asset a --interval d1 --from 11y');
  expect(await say('retention show')).toMatch(/^history +forever +-$/m);

  expect(await say('retention off candles')).toContain('kept forever from now on');
  expect(await settings()).toEqual([]);
  await say(`${track} d1 --from 11y`);
});
