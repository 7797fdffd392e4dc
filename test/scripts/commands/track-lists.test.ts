import { expect, it, onTestFinished } from 'vitest';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { tidemark } from '../command.ts';

it('tracks lists with their cadence, shows them in status, and untracks them', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url };
  const say = async (...words: string[]) => (await tidemark(words, env)).stdout;

  expect(await say('track', 'assets')).toBe('tracking: assets, every 5 min\n');
  expect(await say('track', 'assets', '--every', '30s')).toBe('already tracked, now: assets, every 30 s\n');
  const markets = await say(
    'track',
    'asset-markets',
    '--asset',
    ' icelandic-króna',
    '--every',
    '1h',
    '--json',
  );
  expect(JSON.parse(markets)).toEqual({
    list: 'asset_markets',
    asset: 'icelandic-króna',
    everySeconds: 3600,
    change: 'created',
  });
  expect(await say('untrack', 'exchanges')).toBe('');
  expect(await say('track', 'exchanges')).toBe('tracking: exchanges, every 5 min\n');
  expect(await say('untrack', 'exchanges')).toBe('no longer tracking exchanges; stored data stays\n');
  // What the user has decided stays.
  expect(await say('track', 'lists')).toBe(
    'assets: as before\nexchanges: as before\ntracking: markets, every 1 h\n',
  );

  const shown = JSON.parse(await say('status', '--json'));
  const never = { newest: null, newestAgeSeconds: null, rows: null, changed: null, gone: 0, problem: null };
  expect(shown.lists).toEqual([
    {
      list: 'assets',
      asset: null,
      everySeconds: 30,
      ...never,
      pagesUnderWay: null,
      retryAt: null,
      quarantined: 0,
    },
    {
      list: 'markets',
      asset: null,
      everySeconds: 3600,
      ...never,
      pagesUnderWay: null,
      retryAt: null,
      quarantined: 0,
    },
    {
      list: 'asset_markets',
      asset: 'icelandic-króna',
      everySeconds: 3600,
      ...never,
      pagesUnderWay: null,
      retryAt: null,
      quarantined: 0,
    },
  ]);
  expect(await say('status')).toMatch(
    /\nlist +every +newest +age +rows +changed +gone +note\nassets +30 s +-/,
  );

  expect(shown.rates.everySeconds).toBe(300);
  await say('track', 'rates', '--every', '10min');
  expect(JSON.parse(await say('status', '--json')).rates.everySeconds).toBe(600);
  await say('untrack', 'rates');
  const twice = await tidemark(['untrack', 'rates'], env);
  expect(twice).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('rates: not tracked') });
  expect(await say('status')).toContain('rates: none polled yet, not polled\n');
  expect(await say('track', 'rates')).toBe('tracking again: rates, every 5 min\n');

  const refused = await Promise.all(
    [
      ['track', 'assets', '--every', '9s'],
      ['track', 'asset-markets'],
      ['untrack', 'markets', '--asset', 'x'],
    ].map((words) => tidemark(words, env)),
  );
  expect(refused.map(({ exitCode }) => exitCode)).toEqual([2, 2, 2]);
  expect(refused[0]?.stderr).toContain('--every "9s"');
});
