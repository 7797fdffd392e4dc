/** The lists of markets of sources, as they are read one after the other. */

import { expect, test } from 'vitest';
import { decimalText } from '../../../model/decimal.ts';
import { hourMs } from '../../../model/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { areAnyListed, readMarkets, storeMarkets } from '../../../store/series/sources.ts';
import { setSeriesSources } from '../../parts/series-sources.ts';
import { openOwnStore } from '../open-store.ts';

const startMs = Date.UTC(2026, 10, 20, 12);
const market = (symbol: string, more: { isTrading?: boolean; size?: string } = {}) => ({
  ...{ symbol, base: 'BTC', quote: 'USDT:USDT', listedMs: null, isTrading: more.isTrading ?? true },
  contract: more.size === undefined ? null : { size: decimalText(more.size), asset: 'BTC' },
});

async function open() {
  const { database } = await openOwnStore();
  const rows = async (sql: string) => (await database.pool.query<{ line: string }>(sql)).rows.map(({ line }) => line);
  return {
    database,
    list: (hours: number, ...markets: ReturnType<typeof market>[]) =>
      storeMarkets(database, 'venue', markets, startMs + hours * hourMs),
    async listed() {
      const markets = await readMarkets.on(database.pool, { source: 'venue' });
      return markets.map(({ symbol, isTrading }) => `${symbol}${isTrading ? '' : ' halted'}`);
    },
    gone: () =>
      rows(`select concat_ws(' ', symbol, extract(epoch from gone_since - '2026-11-20 12:00Z')::int / 3600) as line
            from source_markets where gone_since is not null order by 1`),
    changes: () =>
      rows(`select concat_ws(' ', extract(epoch from time - '2026-11-20 12:00Z')::int / 3600, symbol,
                     case when gone then 'gone' when not trading then 'halted' end, contract_size) as line
            from source_market_snapshots order by time, symbol`),
  };
}

test('a symbol that a source lists twice is one market, and of two of a pair the one that trades comes first', async () => {
  const { list, listed } = await open();
  await list(0, market('BTCUSDT'), market('BTCUSDT', { isTrading: false }), market('BTC-OLD', { isTrading: false }));
  expect(await listed()).toEqual(['BTCUSDT', 'BTC-OLD halted']);
});

test('each change of a list is kept, and a market is gone once two lists an hour apart lack it', async () => {
  const { database, list, listed, gone, changes } = await open();
  await list(0, market('A', { size: '0.010' }), market('B'));
  await list(24, market('A', { size: '0.01' }), market('B'));
  await list(48, market('A', { size: '0.001' }), market('B', { isTrading: false }));
  expect(await changes()).toEqual(['0 A 0.010', '0 B', '48 A 0.001', '48 B halted']);

  await list(72, market('A', { size: '0.001' }));
  await list(72.5, market('A', { size: '0.001' }));
  expect([await listed(), await gone()]).toEqual([['A', 'B halted'], []]);
  await list(96, market('A', { size: '0.001' }));
  expect([await listed(), await gone()]).toEqual([['A'], ['B 72']]);
  await list(120, market('A', { size: '0.001' }));
  expect(await gone()).toEqual(['B 72']);

  await list(144, market('A', { size: '0.001' }), market('B', { isTrading: false }));
  expect([await listed(), await gone()]).toEqual([['A', 'B halted'], []]);
  expect((await changes()).slice(4)).toEqual(['72 B gone', '144 B halted']);
  // A list that is empty for a while loses nothing, and is not taken for new.
  await list(168);
  expect(await listed()).toEqual(['A', 'B halted']);
  const [{ seenAtMs } = { seenAtMs: 0 }] = await readMarkets.on(database.pool, { source: 'venue' });
  expect(seenAtMs).toBe(startMs + 144 * hourMs);
  await list(192);
  expect([await listed(), await areAnyListed(database, ['venue'])]).toEqual([[], false]);
});

test('coverage has the kind of a market, what it is settled in, its expiry and what a contract is worth', async () => {
  const { database, list } = await open();
  await list(0, market('SWAP', { size: '0.01' }));
  const key = { dataset: 'candles', exchange: 'venue', baseId: 'bitcoin', interval: 'h1' } as const;
  for (const quoteId of ['tether', 'tether:tether', 'tether:tether-270326']) {
    const { seriesId } = await trackSeries(database, { ...key, quoteId }, startMs, null);
    await setSeriesSources(database, seriesId, [{ source: 'venue', symbol: 'SWAP', isArchive: false }]);
  }
  await trackSeries(database, { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' }, startMs, null);
  const { rows } = await database.pool.query(
    'select kind, settle, expiry, contract_size, contract_asset from coverage order by series_id',
  );
  const contract = { contract_size: '0.01', contract_asset: 'BTC' };
  expect(rows).toEqual([
    { kind: 'spot', settle: null, expiry: null, ...contract },
    { kind: 'perpetual', settle: 'tether', expiry: null, ...contract },
    { kind: 'future', settle: 'tether', expiry: '270326', ...contract },
    { kind: null, settle: null, expiry: null, contract_size: null, contract_asset: null },
  ]);
});
