import { describe, expect, it } from 'vitest';
import { openVenues, openWatched } from './watch-list-parts.ts';

const range = '--from 2024-03-01 --to 2024-03-03';
const hours = (exchange: string, base: string, quote = 'tether') =>
  `backfill candles --exchange ${exchange} --base ${base} --quote ${quote} --interval h1 ${range}`;
const history = (assets: string) => `backfill history --asset ${assets} --interval h1 ${range}`;

describe('a name that the source does not know', () => {
  it('is refused once with the name that is meant, and nothing of it stays tracked', async () => {
    const { fails, json, say, series } = await openWatched();
    // The exchanges of the profiles are known before anything is stored.
    await fails(
      hours('binanse', 'bitcoin'),
      4,
      /not found: did you mean "binance"\?; check the ids .*; nothing of it is tracked\n$/,
    );
    await say(hours('binance', 'bitcoin'));
    const stored = await series();
    for (const [words, name, meant] of [
      [hours('binance', 'bitcion'), 'binance bitcion/tether', '"bitcoin"'],
      [hours('binance', 'bitcoin', 'tehter'), 'binance bitcoin/tehter', '"tether"'],
      [hours('binanse', 'bitcion'), 'binanse bitcion/tether', '"binance" and "bitcoin"'],
      [history('bitcion'), 'bitcion', '"bitcoin"'],
    ] as const)
      await fails(words, 4, `${name} not found: did you mean ${meant}?; check the ids`);
    // The same command again says the same.
    await fails(hours('binance', 'bitcion'), 4, 'UNKNOWN_AT_SOURCE: binance bitcion/tether h1: ');
    await fails(hours('binance', 'qwertz'), 4, 'binance qwertz/tether not found; check the ids');
    await fails(history('bitcion').replace('h1', 'h1,d1'), 4, /: bitcion h1 \(and 1 other series\): /);
    expect((await series()).filter((line) => !line.includes(' untracked '))).toEqual(
      stored.filter((line) => !line.includes(' untracked ')),
    );
    expect(await json('status')).toMatchObject({ headline: { level: 'ok' }, series: [{ baseId: 'bitcoin' }] });
  });

  it('stays tracked where it was before, and where it has points', async () => {
    const { fails, json, say, query } = await openWatched();
    await say(`track history --asset bitcion --interval h1 --from 2024-03-01`);
    await fails(history('bitcion'), 4, /`tidemark untrack` .*or correct tidemark\.yaml/);
    const names = async () => (await json<{ series: Array<{ assetId?: string }> }>('status')).series;
    expect(await names()).toMatchObject([{ assetId: 'bitcion', blocked: expect.stringContaining('not found') }]);

    await say(history('bitcoin'));
    await query(`update tidemark.series set untracked_at = now() where asset_id = 'bitcoin'`);
    await query(`update tidemark.series set asset_id = 'gone' where asset_id = 'bitcoin'`);
    await fails(`backfill history --asset gone --interval h1 --from 2024-03-01 --to 2024-03-05`, 4, 'gone not found');
    expect(await names()).toMatchObject([{ assetId: 'bitcion' }, { assetId: 'gone' }]);
  });

  it('is not tracked either at a source with a list of its markets', async () => {
    const { fails, series } = await openVenues(['binance-coinm', 'kraken']);
    const symbol = (source: string, name: string) => `--source ${source} --symbol ${name}`;
    await fails(
      `backfill candles ${symbol('kraken', 'BTCX/USD')} --interval h1 ${range}`,
      4,
      'did you mean "BTC/USD"?',
    );
    await fails(
      `backfill funding ${symbol('binance-coinm', 'BTX/USD:BTC')} ${range}`,
      4,
      'did you mean "BTC/USD:BTC"?',
    );
    await fails(
      `backfill candles ${symbol('binence', 'BTC/USDT')} --interval h1 ${range}`,
      2,
      'did you mean "binance"?',
    );
    expect(await series()).toEqual([]);
  });
});

it('is not tracked any longer when workers are told so, where a command or the page has tracked it', async () => {
  const { say, run, begin, json, query } = await openWatched();
  await say(history('bitcoin'));
  await query(`update tidemark.series set asset_id = 'gone'`);
  // Points are a reason to go on.
  await say('track history --asset gone --interval h1 --from 2024-03-01 --to 2024-03-05');
  const { stderr } = await run(`track candles --exchange binanse --base bitcoin --quote tether --interval h1 ${range}`);
  expect(stderr).toContain('did you mean "binance"? It is tracked until the source says that it does not know it, or ');
  const service = begin('run --no-serve');
  const states = async () =>
    (await json<{ series: Array<Record<string, string | null>> }>('status')).series.map(
      ({ assetId = 'a market', blocked }) => `${assetId}: ${blocked}`,
    );
  await expect.poll(states, { timeout: 30_000 }).toEqual([expect.stringMatching(/^gone: .*gone not found$/)]);
  service.kill('SIGTERM');
  const { stdout, stderr: log } = await service.ended;
  const cause = 'binanse bitcoin/tether not found: did you mean "binance"?';
  const told = `${stdout}${log}`.split('\n').filter((line) => line.includes('no longer tracked'));
  expect(told).toEqual([expect.stringContaining(JSON.stringify(cause).slice(1))]);
  const why = await say('why binanse bitcoin/tether h1');
  expect(why).toMatch(/; untracked since .*, as the source does not know it: .*binanse .* not found: did you mean /);
  expect(why).not.toContain('refuses the series until');
  const [line] = await json<object[]>('backfills');
  expect(line).toMatchObject({ state: 'failed', result: expect.stringMatching(/^UNKNOWN_AT_SOURCE: .*did you mean /) });
});

it('names in the watch list what the source does not know', async () => {
  const { run, say, write, json, begin } = await openWatched();
  await say(hours('binance', 'bitcoin'));
  write('candles: [{ exchange: binanse, base: bitcoin, quote: tether, interval: h1, from: 2024-03-01 }]\n');
  await run('apply');
  const service = begin('run --no-serve');
  const blocked = 'binanse bitcoin/tether not found: did you mean "binance"?';
  await expect
    .poll(async () => (await json<{ series: object[] }>('status')).series, { timeout: 20_000 })
    .toMatchObject([{}, { exchange: 'binanse', blocked: expect.stringContaining(blocked) }]);
  service.kill('SIGTERM');
  await service.ended;
});
