import { expect, it } from 'vitest';
import { openWatched } from './watch-list-parts.ts';

it('tracks lists with their cadence, shows them in status, and untracks them', async () => {
  const { fails, say, json } = await openWatched();
  expect(await say('track lists --if-source', { SOURCE_URL: '' })).toBe('no list: SOURCE_URL is not set\n');
  expect(await say('track assets')).toBe('tracking: assets, every 5 min\n');
  expect(await say('track assets --every 30s')).toBe('already tracked, now: assets, every 30 s\n');
  const markets = { list: 'asset_markets', asset: 'icelandic-króna', everySeconds: 3600 };
  expect(await json('track asset-markets --asset icelandic-króna --every 1h')).toEqual({
    ...{ ...markets, change: 'created' },
  });
  expect(await say('track exchanges')).toBe('tracking: exchanges, every 5 min\n');
  expect(await say('untrack exchanges')).toBe('no longer tracking exchanges; stored data stays\n');
  // What the user has decided stays.
  expect(await say('track lists')).toBe('assets: as before\nexchanges: as before\ntracking: markets, every 1 h\n');

  const never = {
    ...{ newest: null, newestAgeSeconds: null, rows: null, changed: null, gone: 0, problem: null },
    ...{ pagesUnderWay: null, retryAt: null, quarantined: 0 },
  };
  expect(await json('status')).toMatchObject({
    lists: [
      { list: 'assets', asset: null, everySeconds: 30, ...never },
      { list: 'markets', asset: null, everySeconds: 3600, ...never },
      { ...markets, ...never },
    ],
  });
  expect(await say('status')).toMatch(/\nlist +every +newest +age +rows +changed +gone +note\nassets +30 s +-/);

  await say('track rates --every 10min');
  expect(await json('status')).toMatchObject({ rates: { everySeconds: 600 } });
  await say('untrack rates');
  await fails('untrack rates', 2, 'rates: not tracked');
  expect(await say('status')).not.toContain('rates');
  expect(await say('track rates')).toMatch(/^tracking again: rates, every /);
});
