/** Every endpoint against the contract, and against the types of the interface's section 2. */

import type { FastifyInstance } from 'fastify';
import { isLosslessNumber, type LosslessNumber, parse } from 'lossless-json';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { pathOf, routes } from '../../contract/paths.ts';
import * as resources from '../../contract/resources.ts';
import { createService } from '../../service/server.ts';
import { simulatedMarketData } from '../../simulator/served.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { clockAt } from '../parts/test-clock.ts';

const nowMs = Date.UTC(2024, 4, 16, 10, 7, 31);
const simulator = createSimulator({ seed: 'endpoints', clock: { now: () => nowMs } });
let app: FastifyInstance;
beforeAll(() => {
  app = createService({ data: simulatedMarketData(simulator), clock: clockAt(() => nowMs) });
});
afterAll(() => app.close());

type Row = Record<string, unknown>;

/** The answer with every JSON number as its text in the answer. */
async function ask(url: string): Promise<{ data: unknown; timestamp: unknown }> {
  const answer = await app.inject(`/v2${url}`);
  expect({ url, status: answer.statusCode, body: answer.body.slice(0, 100) }).toMatchObject({ status: 200 });
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  return parse(answer.body) as { data: unknown; timestamp: unknown };
}

/** `value` with whole numbers as numbers and all others as text, as the contract's schemas want them. */
function readable(value: unknown): unknown {
  if (isLosslessNumber(value)) {
    const number = value as LosslessNumber;
    return Number.isSafeInteger(Number(number.value)) ? Number(number.value) : number.value;
  }
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, readable(field)]));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (isLosslessNumber(value)) return 'number';
  return typeof value;
}

const candles = 'exchange=kraken&interval=h1&baseId=bitcoin&quoteId=euro';
const icelandic = 'icelandic-króna';

/** The path of a route by its name. */
const pathTo = (name: string, id = '') =>
  routes.find((route) => route.name === name)?.path.replace(':id', encodeURIComponent(id)) ?? name;

/** Fields in their order: `#` a JSON number, `?` may be null, and is in one row at least. */
const fields = {
  asset: 'id rank symbol name supply maxSupply marketCapUsd volumeUsd24Hr priceUsd changePercent24Hr',
  assetMarket: 'exchangeId baseId quoteId baseSymbol quoteSymbol #volumeUsd24Hr #priceUsd #volumePercent',
  market: `exchangeId #rank baseSymbol baseId quoteSymbol quoteId priceQuote priceUsd volumeUsd24Hr
    percentExchangeVolume #tradesCount24Hr? #updated`,
  exchange: 'id name #rank percentTotalVolume? volumeUsd? #tradingPairs !socket? exchangeUrl? #updated',
  rate: 'id symbol currencySymbol? rateUsd type',
  candle: 'open high low close volume #period',
};
const { asset, assetMarket, exchange, market, rate, candle, historyPoint } = resources;

const cases: [string, string, z.ZodType, string][] = [
  ['assets', '/assets', asset, fields.asset.replace(/(maxSupply|priceUsd|changePercent24Hr)/g, '$1?')],
  ['asset', pathOf('asset', 'golem-(glm)'), asset, `${fields.asset.replace('rank', '#rank')} vwap24Hr`],
  ['assetHistory', `${pathOf('assetHistory', 'bitcoin')}?interval=d1`, historyPoint, '#priceUsd #time date'],
  ...of(['assetMarkets', 'assetMarketsAlias'], 'bitcoin', assetMarket, fields.assetMarket),
  ...of(['markets', 'marketsData'], '', market, fields.market),
  ...of(['exchanges', 'exchangesAll', 'exchange'], 'kraken', exchange, fields.exchange),
  ...of(['rates', 'ratesAll', 'rate'], icelandic, rate, fields.rate),
  ...of(['candles', 'candlesMarket'], '', candle, fields.candle, `?${candles}`),
];

function of(names: string[], id: string, schema: z.ZodType, row: string, query = ''): typeof cases {
  return names.map((name) => [name, pathTo(name, id) + query, schema, row]);
}

const kinds: Readonly<Record<string, string>> = { '#': 'number', '!': 'boolean' };

/** Type by name; with `?`: or null. */
const typesIn = (row: string) =>
  Object.fromEntries(
    [...row.matchAll(/([#!]?)(\w+)(\??)/g)].map(([, kind = '', name, end]) => [
      name,
      `${kinds[kind] ?? 'string'}${end}`,
    ]),
  );

test('covers every endpoint', () => {
  expect(new Set(cases.map(([endpoint]) => endpoint))).toEqual(new Set(routes.map(({ name }) => name)));
});

test.each(cases)('%s responds as the interface specifies', async (endpoint, url, schema, row) => {
  const types: Record<string, string> = typesIn(row);
  const { data, timestamp } = await ask(url);
  expect(typeOf(timestamp)).toBe('number');
  const single = ['asset', 'exchange', 'rate'].includes(endpoint);
  expect(Array.isArray(data)).toBe(!single);
  const rows = (single ? [data] : data) as Row[];
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) {
    schema.parse(readable(row));
    expect(Object.keys(row)).toEqual(Object.keys(types));
    for (const [name, type] of Object.entries(types)) {
      const allowed = type.endsWith('?') ? [type.slice(0, -1), 'null'] : [type];
      expect(allowed, `${name} of ${JSON.stringify(readable(row))}`).toContain(typeOf(row[name]));
    }
  }
  if (!single) {
    for (const [name, type] of Object.entries(types)) {
      const isNull = rows.some((row) => row[name] === null);
      expect(isNull, `a null ${name}`).toBe(type.endsWith('?'));
    }
  }
});

test('pages lists and orders them as in the field', async () => {
  const ids = async (url: string) => ((await ask(url)).data as Row[]).map((row) => row.id ?? row.exchangeId);
  const all = await ids('/assets');
  expect([...(await ids('/assets?limit=5')), ...(await ids('/assets?offset=5'))]).toEqual(all);
  for (const [query, found] of [
    ['ids=solana,bitcoin,nothing', ['bitcoin', 'solana']],
    ['ids=solana,+bitcoin%20,%20nothing', ['bitcoin', 'solana']],
    ['ids=', []],
    ['search=gLm', expect.arrayContaining(['golem-(glm)', 'galleon'])],
  ] as const)
    expect(await ids(`/assets?${query}`)).toEqual(found);
  const markets = await ids('/markets');
  expect(markets).toEqual(markets.toSorted());
  const { data } = await ask('/markets?assetSymbol=btc&exchangeId=binance');
  expect(data).toHaveLength(4);
});
