import { describe, expect, test } from 'vitest';
import type { Source } from '../../sources/source.ts';
import { serveBody, sourceAt } from './local-server.ts';
import { candlesAt, historyAt } from './points-at.ts';

const range = { start: 0, end: 86_400_000 };
const candles = { exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval: 'h1', ...range } as const;

const asset = { id: 'bitcoin', rank: '1', symbol: 'BTC', name: 'Bitcoin', priceUsd: '65995.8213948392627604' };
const rate = { id: 'icelandic-króna', symbol: 'ISK', currencySymbol: null, type: 'fiat', rateUsd: '0.0076' };
const exchange = { exchangeId: 'kraken', name: 'Kraken', rank: '3' };
const pair = { baseSymbol: 'BTC', baseId: 'bitcoin', quoteSymbol: 'EUR', quoteId: 'euro' };
const market = { exchangeId: 'kraken', rank: '1', ...pair, tradesCount24Hr: null };
const assetMarket = { exchangeId: 'Kraken', ...pair, priceUsd: 63588.30286991912 };
const candle = { open: '1.50', high: '2', low: '1', close: '1.5', volume: '0.0', period: 3_600_000 };
const point = { priceUsd: '44090.9649578312884148', time: 0, date: '1970-01-01T00:00:00.000Z' };

describe('endpoints', () => {
  const lists: [string, (source: Source) => Promise<unknown>, object, object][] = [
    ['/v2/assets', (source) => source.list('assets'), asset, { rank: 1, maxSupply: null }],
    ['/v2/assets?limit=2000', (source) => source.list('assets', { limit: 2000 }), asset, { id: 'bitcoin' }],
    [
      '/v2/assets/kr%C3%B3na%20(x)%2Fy/history?interval=d1&start=0&end=86400000',
      (source) => historyAt(source, 'króna (x)/y', { interval: 'd1', ...range }),
      point,
      { time: 0, priceUsd: '44090.9649578312884148' },
    ],
    [
      '/v2/assets/bitcoin/markets?limit=2000&offset=2000',
      (source) => source.list('asset_markets', { id: 'bitcoin', limit: 2000, offset: 2000 }),
      assetMarket,
      { exchangeId: 'Kraken', priceUsd: '63588.30286991912' },
    ],
    ['/v2/markets', (source) => source.list('markets'), market, { rank: 1, tradesCount24Hr: null }],
    ['/v2/exchanges', (source) => source.list('exchanges'), exchange, { id: 'kraken', rank: 3 }],
    ['/v2/rates', (source) => source.list('rates'), rate, rate],
    [
      '/v2/candles?exchange=binance&interval=h1&baseId=bitcoin&quoteId=tether&start=0&end=86400000',
      (source) => candlesAt(source, candles),
      candle,
      candle,
    ],
  ];

  test.each(lists)('GET %s', async (url, call, sent, read) => {
    const server = await serveBody({ data: [sent], timestamp: 1_633_289_146_000 });
    const answer = await call(sourceAt(server.baseUrl));
    expect(answer).toMatchObject({ rows: [read], rejected: [], sourceTimeMs: 1_633_289_146_000, status: 200 });
    expect(server.requests.map((request) => request.url)).toEqual([url]);
  });

  test('an unwrapped answer is accepted too', async () => {
    const list = await serveBody([asset]);
    expect(await sourceAt(list.baseUrl).list('assets')).toMatchObject({
      rows: [{ id: 'bitcoin' }],
      sourceTimeMs: null,
    });
  });
});
