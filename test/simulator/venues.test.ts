import { parse, stringify } from 'lossless-json';
import { afterEach, describe, expect, test } from 'vitest';
import type { CandleInterval } from '../../model/datasets/candles.ts';
import { datasetOf } from '../../model/datasets/index.ts';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { marketKind } from '../../model/market.ts';
import { kindsGiven, type SeriesKey } from '../../model/series.ts';
import { perpetualCandle } from '../../simulator/derivatives.ts';
import {
  type RunningVenueSimulator,
  startVenueSimulator,
  type VenueSimulatorOptions,
} from '../../simulator/venues/start.ts';
import type { VenueName } from '../../simulator/venues/venue.ts';
import { venues } from '../../simulator/venues/venues.ts';
import { profiles } from '../../sources/profiles/profiles.ts';
import type { Candle } from '../../v2/resources.ts';
import { clockAt } from '../parts/test-clock.ts';
import { describeRecordings, recording } from '../recordings.ts';
import { sourceAt } from '../sources/local-server.ts';
import { candleSeries } from './exact.ts';

const startMs = Date.UTC(2024, 4, 16, 10, 7, 31, 250);
let nowMs = startMs;
let venue: RunningVenueSimulator | undefined;
afterEach(() => {
  nowMs = startMs;
  return venue?.close();
});

async function begin(
  profile: VenueSimulatorOptions['profile'],
  options: Omit<VenueSimulatorOptions, 'profile' | 'now'> = {},
): Promise<void> {
  await venue?.close();
  venue = await startVenueSimulator({ profile, clock: clockAt(() => nowMs), ...options });
}

async function get(path: string) {
  const response = await fetch(`${venue?.url}${path}`);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

/** The body of an answer with JSON numbers as the text that they are. */
async function body<Body>(path: string): Promise<Body> {
  return parse((await get(path)).text, undefined, (number) => number) as Body;
}

function truth(market: string, interval: CandleInterval, fromMs: number, toMs: number): Candle[] {
  return venue?.truth.candles(candleSeries(market, interval), { startMs: fromMs, endMs: toMs }) ?? [];
}

const ohlcv = ({ period, open, high, low, close, volume }: Candle) => [String(period), open, high, low, close, volume];

/** Structure of JSON: keys, types, and the elements of arrays; rows of a list that look alike count once. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) {
    const shapes = value.map(shape);
    const isList = shapes.every((one) => typeof one === 'object' && stringify(one) === stringify(shapes[0]));
    return isList ? shapes.slice(0, 1) : shapes;
  }
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]));
}

describe('binance', () => {
  const klines = (query: string) => `/api/v3/klines?symbol=BTCUSDT&${query}`;

  test('gives 500 rows, at most 1,000, the newest without a start, the last one open', async () => {
    await begin('binance');
    const open = (await body<string[][]>(klines('interval=1h'))).at(-1);
    expect(open?.slice(0, 6)).toEqual(truth('binance bitcoin/tether', 'h1', nowMs - hourMs, nowMs).map(ohlcv)[0]);
    expect(await body(klines('interval=1h'))).toHaveLength(500);
    const first = Date.UTC(2024, 0, 1);
    const rows = await body<string[][]>(klines(`interval=1m&startTime=${first}&limit=5000`));
    expect(rows).toHaveLength(1000);
    expect(rows[0]?.[0]).toBe(String(first));
    expect(await body(klines('interval=1m&limit=3&endTime=1262304000000'))).toHaveLength(1);
    // Minutes without a row do not shorten a page.
    const thin = await body<string[][]>('/api/v3/klines?symbol=GLMUSDT&interval=1m&limit=1000');
    expect(thin).toHaveLength(1000);
    expect(thin.map((row) => row.slice(0, 6))).toEqual(
      truth('binance galleon/tether', 'm1', nowMs - 7 * dayMs, nowMs)
        .slice(-1000)
        .map(ohlcv),
    );
  });

  test('counts weight by the minute of the clock, refuses, then bans', async () => {
    await begin('binance', { perMinute: 42 });
    expect((await get('/api/v3/exchangeInfo')).headers.get('x-mbx-used-weight-1m')).toBe('20');
    expect((await get('/api/v3/exchangeInfo')).status).toBe(200);
    expect((await get(klines('interval=1m&limit=1'))).headers.get('x-mbx-used-weight-1m')).toBe('42');
    const refused = await get(klines('interval=1m&limit=1'));
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('29');
    expect(refused.headers.get('x-mbx-used-weight-1m')).toBe('44');
    expect(JSON.parse(refused.text)).toMatchObject({ code: -1003 });
    for (let at = 0; at < 9; at++) expect((await get(klines('interval=1m&limit=1'))).status).toBe(429);
    const banned = await get(klines('interval=1m&limit=1'));
    expect(banned.status).toBe(418);
    expect(banned.headers.get('retry-after')).toBe('120');
    expect(banned.text).toContain(`IP banned until ${nowMs + 120_000}`);
    nowMs += minuteMs;
    expect((await get(klines('interval=1m&limit=1'))).status).toBe(418);
    nowMs += minuteMs;
    expect((await get(klines('interval=1m&limit=1'))).status).toBe(200);
    expect(venue?.requests()).toMatchObject({ total: 16, largestRollingMinute: 64, count429: 10 });
    expect(venue?.requests().byStatus[418]).toBe(2);
    expect(venue?.requests().byRoute).toEqual({ '/api/v3/exchangeInfo': 2, '/api/v3/klines': 14 });
  });
});

describe('kraken', () => {
  type Ohlc = { error: string[]; result: Record<string, string[][]> };
  const rowsOf = async (query: string, key: string) => (await body<Ohlc>(`/0/public/OHLC?${query}`)).result[key] ?? [];
  const inMs = (row: readonly string[]) => [`${row[0]}000`, ...row.slice(1, 5), row[6]];

  test('gives a minute without a trade as the previous close without volume', async () => {
    await begin('kraken');
    const rows = await rowsOf('pair=LTCEUR', 'XLTCZEUR');
    expect(rows).toHaveLength(721);
    const silent = rows.findIndex((row) => row[6] === '0.00000000');
    const close = rows[silent - 1]?.[4];
    expect(rows[silent]?.slice(1)).toEqual([close, close, close, close, '0.0', '0.00000000', '0']);
    const traded = truth('kraken litecoin/euro', 'm1', nowMs - 720 * minuteMs - 31_250, nowMs);
    expect(traded.length).toBeLessThan(700);
    expect(rows.filter((row) => row[6] !== '0.00000000').map(inMs)).toEqual(traded.map(ohlcv));
  });

  test('refuses in a 200 after a burst, then one a second', async () => {
    await begin('kraken');
    const path = '/0/public/OHLC?pair=XBTUSD&interval=1440';
    for (let at = 0; at < 15; at++) expect((await body<Ohlc>(path)).error).toEqual([]);
    const refused = await get(path);
    expect(refused).toMatchObject({ status: 200, text: '{"error":["EGeneral:Too many requests"]}' });
    nowMs += 1000;
    expect((await body<Ohlc>(path)).error).toEqual([]);
    expect((await get(path)).text).toContain('Too many');
    expect(venue?.requests()).toMatchObject({ total: 18, refused: 2, largestRollingMinute: 18 });
  });
});

describe('coinbase', () => {
  const candles = (query: string, id = 'BTC-USD') => `/products/${id}/candles?${query}`;
  const market = 'coinbase bitcoin/united-states-dollar';
  const fromMs = Date.UTC(2024, 4, 16, 9);
  const iso = (timeMs: number) => new Date(timeMs).toISOString();
  /** `[time, low, high, open, close, volume]` */
  const placed = ([time, low = '', high = '', open = '', close = '', volume = '']: readonly string[]) => [
    `${time}000`,
    open,
    high,
    low,
    close,
    volume,
  ];

  test('gives the truth as numbers with all digits, descending, both bounds inclusive', async () => {
    await begin('coinbase');
    const expected = truth(market, 'm1', fromMs, fromMs + 5 * minuteMs + 1).map(ohlcv);
    const toMs = fromMs + 5 * minuteMs;
    for (const query of [`start=${iso(fromMs)}&end=${iso(toMs)}`, `start=${fromMs / 1000}&end=${toMs / 1000}`]) {
      const rows = await body<string[][]>(candles(`granularity=60&${query}`));
      expect(rows.map(placed)).toEqual(expected.toReversed());
      expect(rows).toHaveLength(6);
    }
    const { text } = await get(candles(`granularity=60&start=${iso(fromMs)}&end=${iso(fromMs)}`));
    expect(text).toMatch(/^\[\[\d+(,\d+\.\d{16}){5}\]\]$/);
  });

  test('may give rows before the start', async () => {
    await begin('coinbase', { faults: { rowsBeforeStart: 2 } });
    const rows = await body<string[][]>(candles(`granularity=60&start=${iso(fromMs)}&end=${iso(fromMs)}`));
    expect(rows.map(placed)).toEqual(
      truth(market, 'm1', fromMs - 2 * minuteMs, fromMs + 1)
        .map(ohlcv)
        .toReversed(),
    );
    expect(rows).toHaveLength(3);
  });
});

describe('bybit', () => {
  interface Bybit {
    readonly retCode: string;
    readonly retMsg: string;
    readonly result: { category: string; symbol: string; list: string[][] };
  }
  const kline = (query: string) => `/v5/market/kline?category=spot&symbol=BTCUSDT&${query}`;
  const listOf = async (query: string) => (await body<Bybit>(kline(query))).result.list;
  const market = 'bybit bitcoin/tether';
  const fromMs = Date.UTC(2024, 4, 16, 9);

  test('gives the newest rows of a range: 200, at most 1,000, the first one open', async () => {
    await begin('bybit');
    const range = `start=${fromMs - 7 * dayMs}&end=${fromMs}`;
    const expected = truth(market, 'm1', fromMs - 7 * dayMs, fromMs + 1)
      .map(ohlcv)
      .toReversed();
    expect((await listOf(`interval=1&${range}`)).map((row) => row.slice(0, 6))).toEqual(expected.slice(0, 200));
    expect((await listOf(`interval=1&limit=9999&${range}`)).map((row) => row.slice(0, 6))).toEqual(
      expected.slice(0, 1000),
    );
    expect((await listOf('interval=D&limit=1'))[0]?.slice(0, 6)).toEqual(
      truth(market, 'd1', nowMs - dayMs, nowMs).map(ohlcv)[0],
    );
    expect((await listOf(`interval=1&start=${fromMs - dayMs}&limit=2`)).map((row) => Number(row[0]))).toEqual([
      fromMs - dayMs + minuteMs,
      fromMs - dayMs,
    ]);
  });
});

describe('okx', () => {
  interface Okx {
    readonly code: string;
    readonly data: string[][];
  }
  const history = (query: string) => `/api/v5/market/history-candles?instId=BTC-USDT&${query}`;
  const dataOf = async (path: string) => (await body<Okx>(path)).data;
  const market = 'okx bitcoin/tether';
  const fromMs = Date.UTC(2024, 4, 16, 9);

  test('gives the newest 300 closed candles of a range', async () => {
    await begin('okx');
    const expected = truth(market, 'h1', fromMs - 30 * dayMs, fromMs)
      .map(ohlcv)
      .toReversed();
    const data = await dataOf(history(`bar=1H&limit=500&before=${fromMs - 30 * dayMs}&after=${fromMs}`));
    expect(data.map((row) => row.slice(0, 6))).toEqual(expected.slice(0, 300));
    expect(await dataOf(history(`bar=1H&limit=3&after=${fromMs}`))).toEqual(data.slice(0, 3));
    const [newest] = await dataOf(history('bar=1Dutc'));
    expect([newest?.[0], newest?.[8]]).toEqual([String(Date.UTC(2024, 4, 15)), '1']);
  });
});

describe('binance-usdm', () => {
  const klines = (query: string) => `/fapi/v1/klines?symbol=BTCUSDT&interval=1h&${query}`;
  const used = async (path: string) => Number((await get(path)).headers.get('x-mbx-used-weight-1m'));

  test('counts weight by the rows that are asked for, and three limits apart', async () => {
    await begin('binance-usdm');
    let before = 0;
    for (const [limit, weight] of [
      ['limit=99', 1],
      ['limit=499', 2],
      ['', 5],
      ['limit=1000', 5],
      ['limit=1001', 10],
    ]) {
      const now = await used(klines(String(limit)));
      expect([limit, now - before]).toEqual([limit, weight]);
      before = now;
    }
    for (let at = 0; at < 500; at += 1) await get('/fapi/v1/fundingRate?symbol=BTCUSDT&limit=1');
    expect((await get('/fapi/v1/fundingRate?symbol=BTCUSDT&limit=1')).status).toBe(429);
    expect((await get('/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&limit=1')).status).toBe(200);
    expect(await used(klines('limit=1'))).toBe(before + 1);
  });
});

describe('bybit-linear', () => {
  type Rows = { result: { list: Record<string, string>[] } };
  const listOf = async (path: string) => (await body<Rows>(`/v5/market/${path}`)).result.list;
  const perpetual = 'category=linear&symbol=BTCUSDT';
  const range = (key: string, days: number) => `&start${key}=${startMs - days * dayMs}&end${key}=${startMs}`;

  test('gives the newest rows of a range first: prices without volume, also of minutes without a trade', async () => {
    await begin('bybit-linear');
    const mark = await listOf(`mark-price-kline?category=linear&symbol=GLMUSDT&interval=1${range('', 1)}`);
    const times = Array.from({ length: 200 }, (_, place) => startMs - (startMs % minuteMs) - place * minuteMs);
    expect(mark.map((row) => [Number(row[0]), Object.keys(row).length])).toEqual(times.map((time) => [time, 5]));
    const funding = await listOf(`funding/history?${perpetual}${range('Time', 400)}`);
    const stated = funding.map((row) => Number(row.fundingRateTimestamp));
    expect(stated).toEqual(stated.toSorted((a, b) => b - a));
    expect([stated.length, startMs - (stated[0] ?? 0) < 8 * hourMs]).toEqual([200, true]);
    const interest = await listOf(`open-interest?${perpetual}&intervalTime=5min${range('Time', 2)}&limit=999`);
    expect(interest).toHaveLength(200);
    // Both sides are not twice the one to the last digit.
    for (const { openInterest = '', singleOpenInterest = '' } of interest)
      expect(2 * Number(singleOpenInterest) - Number(openInterest)).toBeCloseTo(0.001);
    expect(await listOf(`account-ratio?${perpetual}&period=1h${range('Time', 9)}`)).toHaveLength(50);
  });
});

describe('okx-swap', () => {
  const dataOf = async (path: string) => (await body<{ data: string[][] }>(`/api/v5/${path}`)).data;
  const fromMs = Date.UTC(2024, 4, 16, 9);

  test('counts volume in contracts, in the base and in the quote asset', async () => {
    await begin('okx-swap');
    const [row] = await dataOf(`market/history-candles?instId=BTC-USDT-SWAP&bar=1H&limit=1&after=${fromMs}`);
    const [time, open, high, low, close, contracts, volume] = row ?? [];
    const spot = truth('okx-swap bitcoin/tether', 'h1', fromMs - hourMs, fromMs);
    expect([[time, open, high, low, close, volume]]).toEqual(
      spot.map((candle) => ohlcv(perpetualCandle('BTCUSDT', candle))),
    );
    expect(Number(contracts)).toBeCloseTo(100 * Number(volume));
    const inverse = await dataOf(`market/history-candles?instId=ETH-USD-SWAP&bar=1H&limit=1&after=${fromMs}`);
    const [dollars, ether, turnover] = inverse[0]?.slice(5).map(Number) ?? [];
    expect(Math.abs(10 * (dollars ?? 0) - (turnover ?? 0))).toBeLessThanOrEqual(5);
    expect((turnover ?? 0) / (ether ?? 0) / Number(inverse[0]?.[4])).toBeCloseTo(1);
  });

  test('gives prices of the perpetual above those of its index, the same in all intervals', async () => {
    await begin('okx-swap');
    const newest = async (list: string, instId: string, bar: string) =>
      (await dataOf(`market/history-${list}?instId=${instId}&bar=${bar}&limit=1&after=${fromMs}`))[0]?.[4];
    const [spot] = truth('okx-swap bitcoin/tether', 'h1', fromMs - hourMs, fromMs);
    expect(await newest('index-candles', 'BTC-USDT', '1H')).toBe(spot?.close);
    const hour = await newest('candles', 'BTC-USDT-SWAP', '1H');
    expect(Number(hour) / Number(spot?.close) - 1).toBeGreaterThan(0.0001);
    for (const list of ['candles', 'mark-price-candles']) expect(await newest(list, 'BTC-USDT-SWAP', '1m')).toBe(hour);
  });

  test('keeps three months of funding and 1,440 periods of statistics, and answers nothing before', async () => {
    await begin('okx-swap');
    const funding = (query: string) => dataOf(`public/funding-rate-history?instId=BTC-USDT-SWAP&${query}`);
    expect(await funding(`before=${startMs - 200 * dayMs}&after=${startMs - 93 * dayMs}`)).toEqual([]);
    expect((await funding(`before=${startMs - 92 * dayMs}&after=${startMs - 85 * dayMs}`)).length).toBeGreaterThan(9);
    const path = 'rubik/stat/contracts/open-interest-history?instId=BTC-USDT-SWAP&period=5m';
    // The open period counts.
    const oldestMs = startMs - (startMs % (5 * minuteMs)) - 1439 * 5 * minuteMs;
    expect(await dataOf(`${path}&end=${oldestMs}`)).toEqual([]);
    expect((await dataOf(`${path}&begin=0&end=${oldestMs + 1}`)).map(([time]) => Number(time))).toEqual([oldestMs]);
    expect(await dataOf(path)).toHaveLength(100);
  });

  test('limits each path alone', async () => {
    await begin('okx-swap');
    const ratios = '/api/v5/rubik/stat/contracts/long-short-account-ratio-contract?instId=BTC-USDT-SWAP';
    for (let at = 0; at < 5; at++) expect((await get(ratios)).status).toBe(200);
    expect(await get(ratios)).toMatchObject({ status: 429, text: expect.stringContaining('50011') });
    expect((await get(ratios.replace('long-short-account-ratio-contract', 'open-interest-history'))).status).toBe(200);
  });
});

describe('coincap-v3', () => {
  const fromMs = Date.UTC(2024, 4, 15);
  const history = `/assets/bitcoin/history?interval=h1&start=${fromMs}&end=${fromMs + dayMs}`;

  test('counts a credit a call and one per 2,500 bytes, and refuses without any left', async () => {
    await begin('coincap-v3', { creditsPerMonth: 5 });
    const { text } = await get(history);
    const expected = 1 + Math.ceil(Buffer.byteLength(text) / 2500);
    expect(venue?.requests().creditsUsed).toBe(expected);
    expect((await get(history)).status).toBe(200);
    const refused = await get(history);
    expect(refused).toMatchObject({ status: 403 });
    expect(venue?.requests()).toMatchObject({ creditsUsed: 2 * expected, refused: 1 });
    nowMs = Date.UTC(2024, 5, 1);
    expect((await get(history)).status).toBe(200);
    expect(venue?.requests().creditsUsed).toBe(expected);
  });

  test('asks for a key: in the header or in the query', async () => {
    await begin('coincap-v3', { apiKey: 'one' });
    expect((await get('/rates')).status).toBe(401);
    expect((await get('/rates?apiKey=other')).status).toBe(403);
    expect((await get('/rates?apiKey=one')).status).toBe(200);
    const response = await fetch(`${venue?.url}/rates`, { headers: { authorization: 'Bearer one' } });
    expect(response.status).toBe(200);
  });
});

test.each([
  ['binance', '/api/v3/klines', 400, { code: -1102 }],
  ['binance', '/api/v3/klines?symbol=BTCXYZ&interval=1m', 400, { code: -1121 }],
  ['kraken', '/0/public/OHLC?pair=XBTXYZ', 200, { error: ['EQuery:Unknown asset pair'] }],
  ['coinbase', '/products/BTC-XYZ/candles', 404, { message: 'NotFound' }],
  ['bybit', '/v5/market/kline?category=spot&symbol=BTCXYZ&interval=1', 200, { retCode: 10001 }],
  ['bybit-linear', '/v5/market/mark-price-kline?category=linear&symbol=BTCXYZ&interval=1', 200, { retCode: 10001 }],
  ['bybit-linear', '/v5/market/kline?category=spot&symbol=BTCUSDT&interval=1', 200, { retCode: 10001 }],
  // A start alone.
  [
    ...(['bybit-linear', '/v5/market/funding/history?category=linear&symbol=BTCUSDT&startTime=1', 200] as const),
    { retCode: 10001 },
  ],
  ['okx-swap', '/api/v5/public/funding-rate-history?instId=BTC-USDT', 200, { code: '51001', data: [] }],
  ['okx', '/api/v5/market/history-candles?instId=BTC-XYZ', 200, { code: '51001', data: [] }],
  ['okx', '/api/v5/market/history-candles?instId=BTC-USDT&bar=1D', 400, { code: '51000', data: [] }],
  ['binance-usdm', '/fapi/v1/fundingRate?symbol=BTCUSDT&limit=1001', 400, { status: 'ERROR', code: '000002' }],
  ['binance-usdm', '/fapi/v1/indexPriceKlines?symbol=BTCUSDT&interval=1m', 400, { code: -1121 }],
  ['binance-usdm-data', '/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&startTime=1', 400, { code: -1130 }],
  ['binance-coinm', '/dapi/v1/klines?symbol=BTCUSD_PERP&interval=1d&startTime=1', 400, { code: -1127 }],
  ['binance-coinm', '/dapi/v1/klines?symbol=BTCUSDT&interval=1d', 400, { code: -1121 }],
  ['coincap-v3', '/assets/nothing/history?interval=h1', 404, { timestamp: startMs }],
] as const)('%s refuses %s with %i', async (profile, path, status, said) => {
  await begin(profile);
  const answer = await get(path);
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.text)).toMatchObject(said);
});

test.each([
  ['binance', 13, 'BTCUSDT BTC USDT'],
  ['binance-us', 13, 'BTCUSDT BTC USDT'],
  ['binance-usdm', 11, 'BTCUSDT BTC USDT:USDT'],
  ['binance-coinm', 11, 'BTCUSD_PERP BTC USD:BTC'],
  ['kraken', 6, 'XBTUSD BTC USD'],
  ['coinbase', 5, 'BTC-USD BTC USD'],
  ['bybit', 13, 'BTCUSDT BTC USDT'],
  ['okx', 13, 'BTC-USDT BTC USDT'],
  ['bybit-linear', 11, 'BTCUSDT BTC USDT:USDT'],
  ['okx-swap', 12, 'BTC-USDT-SWAP BTC USDT:USDT'],
] as const)('%s lists its markets as its profile reads them', async (name, count, first) => {
  await begin(name);
  const profile = profiles[name];
  if (profile === undefined) throw new Error('no profile');
  const { rows, rejected } = await sourceAt(venue?.url ?? '', { profile }).symbols();
  expect(rejected).toEqual([]);
  expect(rows).toHaveLength(count);
  expect(rows.filter(({ isTrading }) => isTrading)).toHaveLength(count);
  const [market] = rows;
  expect(`${market?.symbol} ${market?.base} ${market?.quote}`).toBe(first);
});

const linear = 'category=linear&symbol=BTCUSDT';
const swap = 'instId=BTC-USDT-SWAP';
const perpetuals = [
  ['bybit-linear', `/v5/market/mark-price-kline?${linear}&interval=1`, 'bybit-mark-price-kline'],
  ['bybit-linear', `/v5/market/index-price-kline?${linear}&interval=1`, 'bybit-index-price-kline'],
  ['bybit-linear', `/v5/market/premium-index-price-kline?${linear}&interval=1`, 'bybit-premium-index-price-kline'],
  ['bybit-linear', `/v5/market/funding/history?${linear}`, 'bybit-funding-history'],
  ['bybit-linear', `/v5/market/open-interest?${linear}&intervalTime=1d`, 'bybit-open-interest'],
  ['bybit-linear', `/v5/market/account-ratio?${linear}&period=1h`, 'bybit-account-ratio'],
  ['okx-swap', `/api/v5/market/history-candles?${swap}`, 'okx-history-candles'],
  ['okx-swap', `/api/v5/market/history-mark-price-candles?${swap}`, 'okx-mark-price-candles'],
  ['okx-swap', '/api/v5/market/history-index-candles?instId=BTC-USDT', 'okx-index-candles'],
  ['okx-swap', `/api/v5/rubik/stat/contracts/open-interest-history?${swap}`, 'okx-open-interest-history'],
  [
    ...(['okx-swap', `/api/v5/rubik/stat/contracts/long-short-account-ratio-contract?${swap}`] as const),
    'okx-long-short-account-ratio-contract',
  ],
] as const;

describeRecordings('answers have the structure of recorded ones', () => {
  test.each([
    ['binance', '/api/v3/klines?symbol=BTCUSDT&interval=1m', 'sources/binance-spot-klines-m1-BTCUSDT-20211022'],
    ['bybit', '/v5/market/kline?category=spot&symbol=BTCUSDT&interval=1', 'sources/bybit-v5-kline-linear-BTCUSDT'],
    ['okx', '/api/v5/market/candles?instId=BTC-USDT', 'sources/okx-candles-m1-20250512'],
    ['coincap-v3', '/assets/bitcoin/history?interval=h1', 'sources/coincap-v3-history-h1-bitcoin-20250610-rows'],
    ['binance-usdm', '/fapi/v1/klines?symbol=BTCUSDT&interval=1d', 'derivatives/binance-um-klines-1d'],
    ['binance-usdm', '/fapi/v1/markPriceKlines?symbol=BTCUSDT&interval=1d', 'derivatives/binance-um-markPriceKlines'],
    ['binance-usdm', '/fapi/v1/indexPriceKlines?pair=BTCUSDT&interval=1d', 'derivatives/binance-um-indexPriceKlines'],
    [
      ...(['binance-usdm', '/fapi/v1/premiumIndexKlines?symbol=BTCUSDT&interval=1d'] as const),
      'derivatives/binance-um-premiumIndexKlines',
    ],
    [
      ...(['binance-usdm-funding', '/fapi/v1/fundingRate?symbol=BTCUSDT'] as const),
      'derivatives/binance-um-fundingRate-negative',
    ],
    [
      ...(['binance-usdm-funding', '/fapi/v1/fundingRate?symbol=BTCUSDT&limit=9999'] as const),
      'derivatives/binance-um-error-fundingRate-limit',
    ],
    ['binance-coinm', '/dapi/v1/klines?symbol=BTCUSD_PERP&interval=1m', 'derivatives/binance-cm-klines'],
    ['binance-coinm', '/dapi/v1/fundingRate?symbol=BTCUSD_PERP', 'derivatives/binance-cm-fundingRate'],
    [
      ...(['binance-coinm', '/futures/data/openInterestHist?pair=BTCUSD&contractType=PERPETUAL&period=5m'] as const),
      'derivatives/binance-cm-openInterestHist',
    ],
    ...perpetuals.map(([profile, path, name]) => [profile, path, `derivatives/${name}`] as const),
  ] as const)('of %s: %s', async (profile, path, name) => {
    await begin(profile);
    const { text } = await get(path);
    expect(shape(JSON.parse(text))).toEqual(shape(JSON.parse(recording(name))));
  });
});

/** Each profile of futures that has a list of its markets. */
const ofFutures = (Object.keys(venues) as VenueName[]).flatMap((name) => {
  const profile = profiles[name];
  return profile?.kinds.includes('perpetual') && profile.files === null ? [{ name, profile }] : [];
});

test.each(ofFutures)('$name answers what its profile says of each kind of its markets', async ({ name, profile }) => {
  await begin(name);
  const source = sourceAt(venue?.url ?? '', { profile, clock: clockAt(() => nowMs) });
  const { rows: markets } = await source.symbols();
  const answered: string[] = [];
  const stated: string[] = [];
  for (const kind of profile.kinds) {
    const market = markets.find(({ base, quote }) => base === 'BTC' && marketKind(quote) === kind);
    const offers = profile.offers.filter(({ dataset }) => datasetOf(dataset).kinds.includes(kind));
    for (const { dataset, longestRangeMs } of market === undefined ? [] : offers) {
      const [interval] = Object.keys(longestRangeMs);
      const key = { exchange: 'any', baseId: 'BTC', quoteId: market?.quote, dataset, interval } as SeriesKey;
      const query = { ...key, startMs: nowMs - dayMs, endMs: nowMs, symbol: market?.symbol };
      const { rows } = await source.points(query).catch(() => ({ rows: [] }));
      if (rows.length > 0) answered.push(`${dataset} of a ${kind}`);
      if (kindsGiven(profile, dataset).includes(kind)) stated.push(`${dataset} of a ${kind}`);
    }
  }
  expect(answered).toEqual(stated);
  expect(answered.length).toBeGreaterThan(0);
});
