import { expect, it } from 'vitest';
import { storedPoints } from '../../pipeline/stored.ts';
import { bitcoinHours as series } from '../../queue/queue-parts.ts';
import { openVenues } from './watch-list-parts.ts';

const months = ['2024-01', '2024-02', '2024-03', '2024-04', '2024-05', '2024-06'];

/** REST, and an archive of the same market by months. @param badFileRate share of files with a defect. */
async function open(badFileRate = 0) {
  const opened = await openVenues(['binance', 'binance-archive']);
  const { binance: rest, 'binance-archive': archive } = opened.venues;
  archive.setFaults({ badFileRate });
  opened.list({ binance: ', archive: binance-archive' });
  return {
    ...opened,
    backfill: () =>
      opened.say(
        'backfill candles --source binance --symbol BTC/USDT --interval h1 --from 2024-01-01 --to 2024-07-01 --json',
      ),
    truth: () => rest.truth.candles(series, { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 6, 1) }),
    stored: () => storedPoints(opened.database, { ...series, baseId: 'BTC', quoteId: 'USDT' }),
    klines: () => rest.requests().recent.filter(({ url }) => url.includes('klines')).length,
    files: () =>
      archive
        .requests()
        .recent.flatMap(({ url }) => /(\d{4}-\d\d)\.zip\.CHECKSUM$/.exec(url)?.[1] ?? [])
        .sort(),
  };
}

it('takes every month from the archive, and nothing a second time', async () => {
  const { backfill, truth, stored, klines, files } = await open();
  const { requests } = JSON.parse(await backfill()) as { requests: number };
  expect(await stored()).toEqual(truth());
  expect(files()).toEqual(months);
  // Each file has a checksum.
  expect(requests).toBe(2 * months.length + klines());
  // REST shows that the series has begun before.
  expect(klines()).toBeLessThanOrEqual(1);
  expect(JSON.parse(await backfill())).toMatchObject({ requests: 0, points: 0 });
  expect(files()).toEqual(months);
});

it('files with any defect are filled from the next source', async () => {
  const { backfill, truth, stored, klines, files, query } = await open(1);
  await backfill();
  expect(await stored()).toEqual(truth());
  // Each is asked for once: what is wrong with it stays wrong.
  expect(files()).toEqual(months);
  expect(klines()).toBeGreaterThan(0);
  // A file that lacks rows at both ends and in its middle gives some: all others of these give nothing.
  expect(await query('select distinct source, verdict from tidemark.fetches')).toEqual(
    expect.arrayContaining([
      { source: 'binance-archive', verdict: 'incomplete' },
      { source: 'binance-archive', verdict: 'filled' },
      { source: 'binance', verdict: 'filled' },
    ]),
  );
});

it('takes a symbol whose assets are named, without any list of markets', async () => {
  const { venues, fails, say, query } = await open();
  const track = 'track candles --source binance-archive --symbol BTCUSDT --interval h1 --from 2024-01-01';
  await fails(track, 2, 'name it as BTC/USDT, or name them with --base and --quote');
  const named = `${track} --base bitcoin --quote tether`;
  await say(named);
  expect(
    await query('select symbol, base_id from tidemark.series_sources join tidemark.series on series_id = id'),
  ).toEqual([{ symbol: 'BTCUSDT', base_id: 'bitcoin' }]);
  expect(venues.binance.requests().total).toBe(0);
  // It ends, although the archive has no file of this month.
  const missing = 'its archive has no file of that time yet';
  await fails(named.replace('track', 'backfill'), 3, `not requested: ${missing}`);
  expect(await say('why 1')).toContain(missing);
  expect(await say('plan')).toMatch(/^nothing is missing that a source has\n.*\nbinance-archive has no file yet of /);
});
