/** The service on a database against the service on the simulator whose data the database holds: the same text. */

import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import { storedMarketData } from '../../../service/queries/series.ts';
import { createService } from '../../../service/server.ts';
import { simulatedMarketData } from '../../../simulator/served.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { pathOf } from '../../../v2/paths.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { useStore } from '../../store/open-store.ts';
import { markGone } from './load-lists.ts';
import { fillStoredWorld, nowMs, simulator, startMs } from './stored-world.ts';

const source = createService({ data: simulatedMarketData(simulator), clock: clockAt(() => nowMs) });
afterAll(() => source.close());

const store = useStore();
let app: FastifyInstance;
beforeAll(async () => {
  await fillStoredWorld(store.database);
  app = createService({ data: storedMarketData(store.database.pool), clock: clockAt(() => nowMs) });
});
afterAll(() => app.close());

const dataOf = async (path: string) => (await app.inject(`/v2${path}`)).json().data;
/** The body with rows in an order of its own, for what comes in no order at the source. */
const sorted = (body: string) => {
  const { data, timestamp } = JSON.parse(body) as { data: { id: string }[]; timestamp: number };
  return { data: data.toSorted((a, b) => (a.id < b.id ? -1 : 1)), timestamp };
};
const range = (fromMs: number, toMs = nowMs) => `start=${fromMs}&end=${toMs}`;
const market = 'exchange=kraken&interval=h1&baseId=bitcoin&quoteId=euro';
const march = Date.UTC(2024, 4, 1);

it.each([
  '/assets',
  '/assets?limit=3&offset=2',
  '/assets?ids=solana,bitcoin,nothing',
  '/assets?search=gLm',
  '/assets/bitcoin',
  pathOf('asset', 'golem-(glm)'),
  '/assets/bitcoin/markets?limit=2000',
  '/assets/bitcoin/market?limit=5&offset=5',
  '/markets?limit=7&offset=30',
  '/markets?exchangeId=binance&baseSymbol=bTc&quoteSymbol=uSDT',
  '/markets?assetSymbol=eur',
  '/markets/data?assetId=euro',
  '/exchanges',
  '/exchanges/all',
  '/exchanges/kraken',
  pathOf('rate', 'icelandic-króna'),
  `/candles?${market}&${range(march)}`,
  `/candles?${market}`,
  `/candles/market?${market}&start=${march + 1}`,
  `/candles?exchange=binance&interval=m1&baseId=bitcoin&quoteId=tether&${range(nowMs - 12 * hourMs)}`,
  '/assets/bitcoin/history?interval=d1',
  `/assets/bitcoin/history?interval=h1&${range(march + 1, march + 2 * dayMs + 1)}`,
  // Of these only h1 is stored.
  ...['h2', 'h6', 'h12'].map(
    (interval) => `/assets/bitcoin/history?interval=${interval}&${range(march + 1, march + 9 * dayMs)}`,
  ),
])('%s gives the text that the source gave', async (path) => {
  const [given, own] = [await source.inject(`/v2${path}`), await app.inject(`/v2${path}`)];
  expect(given.statusCode).toBe(200);
  expect(own.body).toBe(given.body);
  expect(own.headers['content-type']).toBe(given.headers['content-type']);
});

it.each([
  ...['h1', 'h4'].map((interval) => {
    const asked = `${market.replace('h1', interval)}&${range(march)}`;
    return [`/points/candles?${asked}`, `/candles?${asked}`];
  }),
  [`/points/candles?${market}`, `/candles?${market}`],
  ...['h1', 'h12', 'd1'].map((interval) => {
    const asked = `interval=${interval}&${range(march)}`;
    return [`/points/asset_history?assetId=bitcoin&${asked}`, `/assets/bitcoin/history?${asked}`];
  }),
])('%s gives the points of %s, with decimals as text', async (path, specified = '') => {
  const [points, own] = [await app.inject(`/v2${path}`), await app.inject(`/v2${specified}`)];
  const asText = own.body.replaceAll(/"priceUsd":([\d.]+)/g, '"priceUsd":"$1"').replaceAll(/,"date":"[^"]*"/g, '');
  expect([points.statusCode, points.body]).toEqual([200, asText]);
  for (const header of ['x-tidemark-coverage', 'x-tidemark-derived-from'])
    expect(points.headers[header]).toBe(own.headers[header]);
});

it.each(['/rates', '/rates/all'])('%s returns every rate', async (path) => {
  const [given, own] = [await source.inject(`/v2${path}`), await app.inject(`/v2${path}`)];
  expect(sorted(own.body)).toEqual(sorted(given.body));
});

it('answers the fourteen calls of a client that ends paths of lists with a slash', async () => {
  const calls = [
    ...['/assets/', '/assets/?limit=2&offset=1&', '/assets/?search=BTC&', '/assets/?ids=bitcoin,ethereum&'],
    ...['/assets/bitcoin', '/assets/bitcoin/history?interval=d1&', '/assets/bitcoin/markets?limit=2&'],
    ...[`/assets/bitcoin/history?interval=h1&${range(march)}&`, '/rates/', '/rates/bitcoin', '/exchanges/'],
    ...['/exchanges/kraken', '/markets/?exchangeId=kraken&', `/candles/?${market}&${range(march)}&`],
  ];
  for (const call of calls) {
    const answer = await app.inject(`/v2${call}`);
    const plain = await app.inject(`/v2${call.replace(/\/(?=\?|$)/, '').replace(/&$/, '')}`);
    expect([call, answer.statusCode, answer.body]).toEqual([call, 200, plain.body]);
    const data: unknown = answer.json().data;
    expect(Array.isArray(data) ? data.length : Object.keys(data as object).length).toBeGreaterThan(0);
  }
});

it.each([
  ...['/assets/asdf', '/assets/asdf/history?interval=h1', '/assets/asdf/markets', '/exchanges/asdf'],
  ...['/rates/asdf', `/candles?${market.replace('bitcoin', 'asdf')}`],
  '/points/asset_history?assetId=asdf&interval=h1',
])('%s: 404 for an unknown id', async (path) => {
  const answer = await app.inject(`/v2${path}`);
  const error = path.startsWith('/candles') ? 'kraken asdf/euro not found' : 'asdf not found';
  expect([answer.statusCode, answer.json()]).toEqual([404, { error, timestamp: nowMs }]);
});

describe('intervals that follow from finer ones', () => {
  const asked = (interval: string) => `/candles?${market.replace('h1', interval)}&${range(startMs)}`;
  const viewed = async (interval: string) => {
    const result = await store.database.pool.query<Record<string, string | number>>(
      `select open, high, low, close, volume, time as period from candles
       where exchange = 'kraken' and base = 'bitcoin' and quote = 'euro' and interval = $1 and time >= $2 order by time`,
      [interval, new Date(startMs).toISOString()],
    );
    return result.rows;
  };
  it.each(['h2', 'w1'])('serves %s candles like the view `candles`', async (interval) => {
    const rows = await dataOf(asked(interval));
    expect(rows.length).toBeGreaterThan(4);
    expect(rows).toEqual(await viewed(interval));
  });
});

it.each([
  [`/candles?${market}&`, undefined],
  [`/candles?${market.replace('h1', 'h4')}&`, 'h1'],
  ['/assets/bitcoin/history?interval=h12&', 'h1'],
])('%s says what its rows are derived from', async (path, from) => {
  const { headers } = await app.inject(`/v2${path}${range(march)}`);
  expect(headers['x-tidemark-derived-from']).toBe(from);
});

describe('X-Tidemark-Coverage', () => {
  const coverage = async (path: string) => (await app.inject(`/v2${path}`)).headers['x-tidemark-coverage'];
  const hour = Date.UTC(2024, 4, 16, 10);
  const day = Date.UTC(2024, 4, 16);
  const before = startMs - 10 * dayMs;
  const eve = Date.UTC(2011, 11, 31);
  it.each<[string, string, string | undefined]>([
    ['complete', `/candles?${market}&${range(march)}`, `share=1, gaps=0, until=${hour}`],
    [
      'partly missing',
      `/candles?${market}&${range(before, startMs + 10 * dayMs)}`,
      `share=0.5, gaps=1, until=${startMs + 10 * dayMs}, missing=${before}-${startMs}`,
    ],
    [
      'all but complete, rounded down',
      `/assets/bitcoin/history?interval=d1&${range(eve)}`,
      `share=0.9997, gaps=1, until=${day}, missing=${eve}-${Date.UTC(2012, 0, 1)}`,
    ],
    [
      'not closed yet',
      `/candles?${market}&${range(nowMs + dayMs, nowMs + 2 * dayMs)}`,
      `share=1, gaps=0, until=${Date.UTC(2024, 4, 17, 11)}`,
    ],
    [
      'finer than what is stored',
      `/candles?${market.replace('h1', 'm30')}&${range(nowMs - dayMs)}`,
      `share=0, gaps=1, until=${hour}, missing=${Date.UTC(2024, 4, 15, 10, 30)}-${hour}`,
    ],
    [
      'derived from finer prices',
      `/assets/bitcoin/history?interval=h6&${range(startMs - dayMs, startMs + dayMs)}`,
      `share=0.5, gaps=1, until=${startMs + dayMs}, missing=${startMs - dayMs}-${startMs}`,
    ],
    ['of no range', '/rates', undefined],
  ])('of what is %s', async (_, path, header) => {
    expect(await coverage(path)).toBe(header);
  });
  it('counts a period as missing when its only row was rejected', async () => {
    const { pool } = store.database;
    const at = (place: number) => startMs + place * hourMs;
    const asked = `/candles?${market}&${range(at(0), at(10))}`;
    await pool.query('create table kept_candles (like tidemark.candle_points)');
    const gone = await pool.query<{ series_id: number }>(
      `with gone as (
         delete from tidemark.candle_points
         where time in ($1, $2) and series_id = (select id from tidemark.series where exchange_id = 'kraken' and interval = 'h1')
         returning *
       ), kept as (insert into kept_candles select * from gone)
       select series_id from gone`,
      [new Date(at(3)), new Date(at(6))],
    );
    const reject = (timeMs: number | null) =>
      pool.query(
        `insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw, time)
         values (now(), 'candles', $1, tstzrange($2, $3), 'impossible', $4, $5)`,
        [
          gone.rows[0]?.series_id,
          new Date(at(0)),
          new Date(at(10)),
          String(timeMs),
          timeMs === null ? null : new Date(timeMs),
        ],
      );
    const holes = `share=0.8, gaps=2, until=${at(10)}, missing=${at(3)}-${at(4)} ${at(6)}-${at(7)}`;
    // A row without a time, or with one far from its window, may be of any period of the window.
    for (const timeMs of [null, 5]) {
      await reject(timeMs);
      expect(await coverage(asked)).toBe(holes);
      expect(await coverage(`/candles?${market}&${range(at(5), at(12))}`)).toBe(
        `share=0.8571, gaps=1, until=${at(12)}, missing=${at(6)}-${at(7)}`,
      );
      await pool.query('delete from tidemark.quarantine');
    }
    expect(await coverage(asked)).toBe(`share=1, gaps=0, until=${at(10)}`);
    // Of a period without a point, of one with a point, and off by seconds after one without.
    for (const timeMs of [at(3), at(4), at(6) + 7000]) await reject(timeMs);
    expect(await coverage(asked)).toBe(holes);
    await reject(null);
    // Points that come since speak for their periods.
    await pool.query('insert into tidemark.candle_points select * from kept_candles');
    expect(await coverage(asked)).toBe(`share=1, gaps=0, until=${at(10)}`);
  });
});

it('serves the markets of an unpolled asset from all markets, without a share', async () => {
  const given = (await source.inject('/v2/assets/ethereum/markets')).json().data as Record<string, unknown>[];
  const own: Record<string, unknown>[] = await dataOf('/assets/ethereum/markets');
  const names = 'exchangeId baseId quoteId baseSymbol quoteSymbol volumeUsd24Hr priceUsd volumePercent';
  for (const row of own) expect(Object.keys(row)).toEqual(names.split(' '));
  const tally = (rows: Record<string, unknown>[]) =>
    rows.map((row) => `${row.baseId}/${row.quoteId} ${row.volumeUsd24Hr}`).sort();
  expect(tally(own)).toEqual(tally(given));
  expect(own.every((row) => row.volumePercent === null)).toBe(true);
});

it('removes what the source removed, but not its history, nor markets of an asset that only they or a history name', async () => {
  for (const id of ['euro', 'bitcoin']) await markGone(store.database, 'assets', id, nowMs);
  const followed = { dataset: 'asset_history', assetId: 'unlisted', interval: 'd1' } as const;
  await trackSeries(store.database, followed, startMs, null);
  expect((await app.inject('/v2/assets/bitcoin')).statusCode).toBe(404);
  expect(await dataOf('/assets?ids=bitcoin')).toEqual([]);
  expect((await dataOf('/assets/bitcoin/history?interval=d1')).length).toBeGreaterThan(300);
  expect((await dataOf('/assets/euro/markets')).length).toBeGreaterThan(0);
  expect(await dataOf('/assets/unlisted/markets')).toEqual([]);
});
