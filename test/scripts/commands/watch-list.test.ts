import { expect, it } from 'vitest';
import { waitFor } from '../../parts/wait-for.ts';
import type { Running } from '../command.ts';
import { openVenues, openWatched } from './watch-list-parts.ts';

const market = 'exchange: binance, base: bitcoin, quote: tether';

function messages(running: Running): string[] {
  return running
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
}

it('two schedulers apply a change once, and an invalid file never', async () => {
  const { write, begin, series, query } = await openWatched();
  const schedulers = [begin('scheduler'), begin('scheduler')];
  const all = () => schedulers.flatMap(messages);
  const said = (text: string) => all().filter((message) => message.includes(text)).length;
  const tracked = async () => (await series()).map((line) => line.replace(/ 0 .*/, ''));
  await waitFor('both schedulers to start', () => said('scheduler started') === 2);

  write(`candles: [{ ${market}, interval: [h1, d1], from: 2024-03-01, to: 2024-03-05 }]`);
  await waitFor('the list to be applied', () => said('the watch list was applied') > 0);
  const first = ['d1', 'h1'].map(
    (interval) => `binance bitcoin tether ${interval} [2024-03-01 00:00,2024-03-05 00:00) tracked`,
  );
  expect(await tracked()).toEqual(first);

  // Whoever has the next pass says so; nothing of it is done.
  write(`candles: [{ ${market}, intervall: [h1, d1], from: 2024-03-01 }]\n`);
  const wrong =
    'the watch list is invalid; the last applied state stays: tidemark.yaml:1:11: interval is missing: it must be one of m1, m5, m15, m30, h1, h2, h4, h8, h12, d1, w1';
  await waitFor('the wrong list to be refused', () => said(wrong) > 0);
  expect(await tracked()).toEqual(first);

  const [, h1 = ''] = first;
  write(`candles: [{ ${market}, interval: h1, from: 2024-03-01, to: 2024-03-06 }]\nprune: true`);
  await waitFor('the next list to be applied', () => said('the watch list was applied') > 1);
  const last = [first[0]?.replace(' tracked', ' untracked'), h1.replace('2024-03-05', '2024-03-06')];
  expect(await tracked()).toEqual(last);

  // Passes come ten times a second: that each scheduler has had some since shows that none applied it again.
  const applied = () => query(`select value from tidemark.settings where name = 'watch_list.applied'`);
  const begun = await applied();
  for (const running of schedulers) running.kill('SIGTERM');
  for (const { ended } of schedulers) expect((await ended).exitCode).toBe(0);
  expect(said('the watch list was applied')).toBe(2);
  expect(said('the watch list is invalid')).toBeLessThanOrEqual(2);

  // A restart finds it applied.
  const again = begin('scheduler', { LOG_LEVEL: 'debug' });
  await waitFor('the scheduler to run', () => messages(again).includes('scheduler started'));
  write('candles: x');
  await waitFor('a refused list', () => messages(again).some((message) => message.includes('is invalid')));
  expect(messages(again).filter((message) => message.includes('the watch list'))).toHaveLength(1);
  expect(await applied()).toEqual(begun);
});

it('run takes a source and an archive that are added to the list, and refuses wrong ones', async () => {
  const { list, begin, query, venues } = await openVenues(['binance', 'binance-archive']);
  const candles = (source: string, interval: string) =>
    `  - { source: ${source}, symbol: BTC/USDT, interval: ${interval}, from: 2h }\n`;
  const first = `candles:\n${candles('binance', 'h1')}`;
  const sources = () =>
    query(`select interval, string_agg(ss.source, ' ' order by ss.rank) as sources
           from tidemark.series s join tidemark.series_sources ss on ss.series_id = s.id group by interval order by 1`);
  list({}, first);
  const running = begin('run');
  await waitFor('the list to be applied', async () => (await sources()).length > 0);
  expect(await sources()).toEqual([{ interval: 'h1', sources: 'binance' }]);

  list({ binance: ', archive: kraken' }, first);
  const wrong =
    /^the watch list is invalid; .*: tidemark.yaml: the source "binance" has an archive, kraken, without its/;
  await waitFor('a refused list', () => messages(running).some((message) => wrong.test(message)));

  const mirror = `  mirror: { profile: binance, url: '${venues.binance.url}', archive: binance-archive }\n`;
  list({ binance: ', archive: binance-archive' }, `${mirror}${first}${candles('mirror', 'd1')}`);
  const added = [
    { interval: 'd1', sources: 'binance-archive mirror' },
    { interval: 'h1', sources: 'binance-archive binance' },
  ];
  await waitFor('its sources', async () => JSON.stringify(await sources()) === JSON.stringify(added));
  running.kill('SIGTERM');
  expect((await running.ended).exitCode).toBe(0);
});

it('run needs no SOURCE_URL where the watch list names its sources, and reports series that need it', async () => {
  const { list, begin, run } = await openVenues(['kraken']);
  list({}, 'candles: [{ source: kraken, symbol: BTC/USD, interval: h1, from: 2h }]');
  await run('track history --asset bitcoin --interval d1 --from 2d');
  const running = begin('run');
  await waitFor('the start', () => messages(running).includes('run started'));
  expect(messages(running)).toContain('no worker can be started for a source; retrying');
  running.kill('SIGTERM');
  expect((await running.ended).exitCode).toBe(0);
});

it('run without any source waits for the first one, and fetches it', async () => {
  const { list, write, begin, run, query } = await openVenues(['kraken']);
  write('');
  await run('migrate');
  const running = begin('run --no-serve');
  const waits = 'no source is used yet: `tidemark track --source` names one, or set SOURCE_URL';
  await waitFor('it to wait', () => messages(running).includes(waits));
  list();
  await run('track candles --source kraken --symbol BTC/USD --interval h1 --from 2h');
  await waitFor('its points', async () => (await query('select from tidemark.candle_points')).length > 0);
  running.kill('SIGTERM');
  expect((await running.ended).exitCode).toBe(0);
});
