import { expect, it } from 'vitest';
import { waitFor } from '../../parts/wait-for.ts';
import { openWatched } from './watch-list-parts.ts';

it('a name means the series that is spelled so, and is refused where only case tells two apart', async () => {
  const { fails, say } = await openWatched();
  for (const asset of ['BTC', 'btc'])
    await say(`track history --asset ${asset} --interval d1 --from 2024-02-01 --to 2024-03-01`);
  expect(await say('untrack btc d1')).toContain('no longer tracking btc d1');
  expect(await say('why BTC d1')).toMatch(/^BTC d1, id 1$/m);
  await fails(
    'why Btc d1',
    2,
    'tidemark: BAD_ARGUMENT: several series are named "Btc d1" but for case; did you mean "BTC d1" or "btc d1"?\n',
  );
});

it('track says which known name was meant, and tracks what was asked for', async () => {
  const { begin, run, query } = await openWatched();
  const track = async (words: string) => (await run(`track ${words} --from 2024-02-01`)).stderr;
  const market = (exchange: string, base: string) => `candles --exchange ${exchange} --base ${base} --quote tether`;
  const after = 'It is tracked until the source says that it does not know it, or `tidemark untrack` ends that\n';
  expect(await track(`${market('binanse', 'bitcoin')} --interval h1,d1`)).toBe(
    `tidemark: binanse bitcoin/tether: did you mean "binance"? ${after}`,
  );
  expect(await run('status --json')).toMatchObject({ stdout: expect.stringContaining('"binanse"') });
  for (const words of [market('binance', 'bitcion'), market('gemini', 'bitcoin'), 'history --asset bitcion'])
    expect(await track(`${words} --interval h1`)).toBe('');
  // With a list of all assets, it is known which are none.
  await run('track assets');
  const running = begin('run');
  await waitFor('the list', async () => (await query('select from public.assets')).length > 10);
  running.kill('SIGINT');
  await running.ended;
  expect(await track('history --asset bitcion --interval d1')).toBe(
    `tidemark: bitcion: did you mean "bitcoin"? ${after}`,
  );
  expect(await track('history --asset bitcoin --interval d1')).toBe('');
});

it('track shows the whole tracked range, and status shows it in full in a pipe', async () => {
  const { say, json } = await openWatched();
  const asset = 'a'.repeat(180);
  const name = `${asset} d1`;
  const track = `track history --asset ${asset} --interval d1 --from`;
  const first = await say(`${track} 2024-02-01 --to 2024-03-01`);
  expect(first).toBe(`tracking ${name} from 2024-02-01 to 2024-03-01 (id 1)\n`);
  expect(await say(`${track} 2024-02-10 --to 2024-02-11`)).toBe(
    `already tracked, range unchanged: ${name} from 2024-02-01 to 2024-03-01 (id 1)\n`,
  );
  expect(await say(`${track} 2024-02-10`)).toBe(
    `already tracked, range extended: ${name} from 2024-02-01 onward (id 1)\n`,
  );
  expect(await say('status')).toContain(` ${name}  2024-02-01 `);
  expect(await say(`untrack ${asset.toUpperCase()} d1`)).toBe(`no longer tracking ${name}; stored points stay\n`);
  expect(await say('untrack 1')).toMatch(/ was untracked before, at 20.*; stored points stay\n$/);
  expect(await json(`${track} 2024-02-10`)).toEqual({
    ...{ seriesId: 1, dataset: 'asset_history', assetId: asset, interval: 'd1' },
    ...{ created: false, change: 'resumed', tracked: { from: '2024-02-10T00:00:00.000Z', to: null } },
  });
});

it('track says when nothing is asked for what it tracks', async () => {
  const { run } = await openWatched();
  const words = 'track candles --exchange okx --base bitcoin --quote tether --interval d1 --from 2024-02-01';
  expect((await run(words)).stderr).toBe('');
  const { stdout, stderr } = await run(words, { SOURCE_URL: '' });
  expect(stdout).toContain('already tracked, range unchanged: okx bitcoin/tether d1');
  expect(stderr).toBe(
    'tidemark: no source is asked for this: SOURCE_URL is not set, and no worker with it is connected; `--source` names ' +
      'an exchange\n',
  );
});
