import { describe, expect, test } from 'vitest';
import { type CandleInterval, candleIntervals } from '../../../model/datasets/candles.ts';
import { intervalMs } from '../../../model/intervals.ts';
import { offerOf } from '../../../model/sources.ts';
import { profiles } from '../../../sources/profiles/profiles.ts';
import { failureOf } from '../failure-at.ts';
import { candlesAt, historyAt } from '../points-at.ts';
import { market, symbols, venueAt } from './venue-at.ts';

const startMs = Date.UTC(2024, 0, 1);
const start = String(startMs);

async function requested(name: string, interval: CandleInterval, rows: number): Promise<string | undefined> {
  const { server, source } = await venueAt(name, '');
  const range = { start: startMs, end: startMs + rows * intervalMs[interval] };
  await failureOf(source, (it) => candlesAt(it, { ...market(name), interval, ...range }));
  expect(server.requests).toHaveLength(1);
  return server.requests[0]?.url;
}

/** Paths of a window of ten minutes, and of ten days, from 2024-01-01. */
const paths: Readonly<Record<string, { m1: string; d1: string; symbols: string }>> = {
  binance: {
    m1: `/api/v3/klines?symbol=BTCUSDT&interval=1m&startTime=${start}&endTime=1704067799999&limit=1000`,
    d1: `/api/v3/klines?symbol=BTCUSDT&interval=1d&startTime=${start}&endTime=1704931199999&limit=1000`,
    symbols: '/api/v3/exchangeInfo?permissions=SPOT&showPermissionSets=false',
  },
  'binance-coinm': {
    m1: `/dapi/v1/klines?symbol=BTCUSD_PERP&interval=1m&startTime=${start}&endTime=1704067799999&limit=499`,
    d1: `/dapi/v1/klines?symbol=BTCUSD_PERP&interval=1d&startTime=${start}&endTime=1704931199999&limit=499`,
    symbols: '/dapi/v1/exchangeInfo',
  },
  'binance-us': {
    m1: `/api/v3/klines?symbol=BTCUSDT&interval=1m&startTime=${start}&endTime=1704067799999&limit=1000`,
    d1: `/api/v3/klines?symbol=BTCUSDT&interval=1d&startTime=${start}&endTime=1704931199999&limit=1000`,
    symbols: '/api/v3/exchangeInfo?permissions=SPOT',
  },
  'binance-usdm': {
    m1: `/fapi/v1/klines?symbol=BTCUSDT&interval=1m&startTime=${start}&endTime=1704067799999&limit=499`,
    d1: `/fapi/v1/klines?symbol=BTCUSDT&interval=1d&startTime=${start}&endTime=1704931199999&limit=499`,
    symbols: '/fapi/v1/exchangeInfo',
  },
  bybit: {
    m1: `/v5/market/kline?category=spot&symbol=BTCUSDT&interval=1&start=${start}&end=1704067799999&limit=1000`,
    d1: `/v5/market/kline?category=spot&symbol=BTCUSDT&interval=D&start=${start}&end=1704931199999&limit=1000`,
    symbols: '/v5/market/instruments-info?category=spot',
  },
  'bybit-linear': {
    m1: `/v5/market/kline?category=linear&symbol=BTCUSDT&interval=1&start=${start}&end=1704067799999&limit=1000`,
    d1: `/v5/market/kline?category=linear&symbol=BTCUSDT&interval=D&start=${start}&end=1704931199999&limit=1000`,
    symbols: '/v5/market/instruments-info?category=linear&limit=1000',
  },
  coinbase: {
    m1: '/products/BTC-USD/candles?granularity=60&start=2024-01-01T00%3A00%3A00.000Z&end=2024-01-01T00%3A09%3A59.000Z',
    d1: '/products/BTC-USD/candles?granularity=86400&start=2024-01-01T00%3A00%3A00.000Z&end=2024-01-10T23%3A59%3A59.000Z',
    symbols: '/products',
  },
  kraken: {
    m1: '/0/public/OHLC?pair=XBTUSD&interval=1&since=1704067199',
    d1: '/0/public/OHLC?pair=XBTUSD&interval=1440&since=1704067199',
    symbols: '/0/public/AssetPairs',
  },
  okx: {
    m1: '/api/v5/market/history-candles?instId=BTC-USDT&bar=1m&before=1704067199999&after=1704067800000&limit=300',
    d1: '/api/v5/market/history-candles?instId=BTC-USDT&bar=1Dutc&before=1704067199999&after=1704931200000&limit=300',
    symbols: '/api/v5/public/instruments?instType=SPOT',
  },
  'okx-swap': {
    m1: '/api/v5/market/history-candles?instId=BTC-USDT-SWAP&bar=1m&before=1704067199999&after=1704067800000&limit=300',
    d1: '/api/v5/market/history-candles?instId=BTC-USDT-SWAP&bar=1Dutc&before=1704067199999&after=1704931200000&limit=300',
    symbols: '/api/v5/public/instruments?instType=SWAP',
  },
};

test('there is a path for every profile of an exchange', () => {
  const ofExchanges = Object.values(profiles).filter(
    ({ lists, offers }) => lists.symbols !== undefined && offerOf(offers, 'candles') !== undefined,
  );
  expect(ofExchanges.map(({ name }) => name).sort()).toEqual(Object.keys(paths));
  expect(Object.keys(symbols)).toEqual(Object.keys(paths));
});

describe.each(Object.entries(paths))('%s', (name, expected) => {
  test('requests a window of minutes, and one of days', async () => {
    expect(await requested(name, 'm1', 10)).toBe(expected.m1);
    expect(await requested(name, 'd1', 10)).toBe(expected.d1);
  });

  test('requests the list of its markets', async () => {
    const { server, source } = await venueAt(name, '');
    await failureOf(source, (it) => it.symbols());
    expect(server.requests[0]?.url).toBe(expected.symbols);
  });

  test('has a name for every interval that it gives, and sends no request for another', async () => {
    const given = profiles[name]?.offers[0]?.longestRangeMs ?? {};
    for (const interval of candleIntervals) {
      const { server, source } = await venueAt(name, '');
      const error = await failureOf(source, (it) =>
        candlesAt(it, { ...market(name), interval, start: startMs, end: startMs + intervalMs[interval] }),
      );
      if (interval in given) {
        expect(server.requests[0]?.url).not.toContain('undefined');
        expect(server.requests[0]?.url).toMatch(/[?&](?:interval|granularity|bar)=\w/);
      } else {
        expect(error).toMatchObject({ kind: 'refused', message: `the source has no candles of ${interval}` });
        expect(server.requests).toEqual([]);
      }
    }
  });
});

test('coinbase: the longest range asks for at most 300 candles, the first and the last among them', async () => {
  const url = new URL((await requested('coinbase', 'm1', 300)) ?? '', 'http://localhost');
  const [from = 0, to = 0] = ['start', 'end'].map((name) => Date.parse(url.searchParams.get(name) ?? ''));
  expect((to - from) / 60_000).toBeLessThan(300);
  expect([from, to >= startMs + 299 * 60_000]).toEqual([startMs, true]);
  expect(profiles.coinbase?.offers[0]?.longestRangeMs.m1).toBe(300 * 60_000);
});

test('okx: periods of half a day and longer begin by UTC, not by the time of Hong Kong', async () => {
  const bars = await Promise.all(
    (['h12', 'd1', 'w1'] as const).map(async (interval) =>
      /bar=(\w+)/.exec((await requested('okx', interval, 1)) ?? '')?.at(1),
    ),
  );
  expect(bars).toEqual(['12Hutc', '1Dutc', '1Wutc']);
});

test('coincap-v3 requests histories and lists with the key as bearer, and has no candles', async () => {
  const { server, source } = await venueAt('coincap-v3', '{"data":[]}', { apiKey: 'sesame-street' });
  await historyAt(source, 'bitcoin', { interval: 'h1', start: startMs, end: startMs + 3_600_000 });
  await source.list('assets', { limit: 5 });
  await source.list('asset_markets', { id: 'bitcoin' });
  await source.list('markets');
  await source.list('rates');
  await source.list('exchanges');
  expect(server.requests.map(({ url }) => url)).toEqual([
    `/v3/assets/bitcoin/history?interval=h1&start=${start}&end=1704070800000`,
    '/v3/assets?limit=5',
    '/v3/assets/bitcoin/markets',
    '/v3/markets',
    '/v3/rates',
    '/v3/exchanges',
  ]);
  expect(server.requests[0]?.headers.authorization).toBe('Bearer sesame-street');
  const error = await failureOf(source, (it) => candlesAt(it, { ...market('binance'), interval: 'm1' }));
  expect([error.kind, error.message, server.requests.length]).toEqual(['refused', 'coincap-v3 has no candles', 6]);
});
