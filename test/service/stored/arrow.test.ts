/** Points as Arrow, over HTTP, against the same points as JSON: every digit of every row. */

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type Table, tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unscaled } from '../../../files/decimals/text.ts';
import { type DatasetName, datasetNames, datasetOf } from '../../../model/datasets/index.ts';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { arrowType } from '../../../service/accepted.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { fillOf, rulesOf } from '../../parts/windows.ts';
import { commitWindow, pointAnswerOf } from '../../store/committing.ts';
import { useStore } from '../../store/open-store.ts';
import { openFacing } from './facing.ts';
import { fillStoredWorld, nowMs, startMs } from './stored-world.ts';

/** 38 digits, both signs, zero, zeros at the end, and the smallest unit. */
const hostile = [
  ...['123456789012345678.12345678901234567890', '999999999999999999.99999999999999999999'],
  ...['0', '0.00000000000000000000', '0.00000000000000000001', '1.10', '7.000000000000000000000000'],
  ...['9007199254740993', '0.1', '4294967296.00000000004294967296', '10000', '0.0001'],
];
const ofPerpetual = { exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether:tether', interval: 'h1' } as const;
const market = 'exchange=binance&baseId=bitcoin&quoteId=tether:tether&interval=h1';
const hours = `start=${startMs}&end=${startMs + 48 * hourMs}`;
const kraken = 'exchange=kraken&baseId=bitcoin&quoteId=euro';

const store = useStore();
let close = async () => {};
let url = '';
beforeAll(async () => {
  await fillStoredWorld(store.database);
  for (const dataset of datasetNames)
    if (datasetOf(dataset).of === 'market') await commitHostile({ ...ofPerpetual, dataset } as SeriesKey);
  const app = await openFacing(store, { clock: clockAt(() => nowMs), rememberMs: 1000 });
  close = () => app.close();
  url = await app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => close());

/** Every value of a column is one after the other of the hostile ones, also negative, and now and then null. */
async function commitHostile(key: SeriesKey, values: readonly string[] = hostile): Promise<void> {
  const { columns, timeField } = datasetOf(key.dataset);
  const rows = Array.from({ length: 2 * values.length + 1 }, (_, hour) => ({
    ...Object.fromEntries(
      columns.map(({ json, isOptional }, place) => {
        const value = values[(hour + place) % values.length] ?? '0';
        const isNull = isOptional === true && (hour + place) % 3 === 0;
        return [json, isNull ? null : hour % 2 === 0 ? value : `-${value}`];
      }),
    ),
    // The silence between two events of funding follows from this.
    ...(key.dataset === 'funding_rates' && { intervalHours: '1.00', delayMs: null }),
    [timeField]: startMs + hour * hourMs,
  }));
  const window = { startMs, endMs: startMs + rows.length * hourMs };
  const { seriesId } = await trackSeries(store.database, key, window.startMs, window.endMs);
  await commitWindow(store.database, {
    ...{ window: fillOf({ seriesId, series: key, ...window }), attempt: 1, nowMs, rules: rulesOf(hourMs) },
    answer: pointAnswerOf(key.dataset, rows, nowMs),
  } as Parameters<typeof commitWindow>[1]);
}

interface Got {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  const sent = request(`${url}/v2${path}`, { agent: false, headers, method }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}
const getArrow = (path: string, headers: Record<string, string> = {}) => get(path, { accept: arrowType, ...headers });

type Row = Readonly<Record<string, string | number | null>>;

/** The rows with times in milliseconds, and decimals as whole numbers of 10^-20. */
function rowsOf(table: Table): Array<Record<string, unknown>> {
  const names = table.schema.fields.map(({ name }) => name);
  return Array.from({ length: table.numRows }, (_, row) =>
    Object.fromEntries(
      names.map((name) => {
        const value: unknown = table.getChild(name)?.get(row);
        return [name, value instanceof Uint32Array ? integerOf(value) : value];
      }),
    ),
  );
}
const integerOf = (words: Uint32Array) =>
  BigInt.asIntN(
    128,
    words.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n),
  );

/** What the rows of JSON are as Arrow. */
function expectedOf(body: Buffer, dataset: DatasetName) {
  const { columns, timeField } = datasetOf(dataset);
  // Of a history the price is a number, whose digits a double would lose.
  const text = body.toString().replaceAll(/"priceUsd":([\d.-]+)/g, '"priceUsd":"$1"');
  return (JSON.parse(text) as { data: Row[] }).data.map((row) => ({
    [timeField]: row[timeField],
    ...Object.fromEntries(
      columns.map(({ json }) => [json, typeof row[json] === 'string' ? unscaled(row[json], 20) : row[json]]),
    ),
  }));
}

const same = ['x-tidemark-coverage', 'x-tidemark-derived-from', 'cache-control'];
const perpetuals = datasetNames.filter((name) => datasetOf(name).of === 'market');

it.each([
  ...perpetuals.map((name) => [`/points/${name}?${market}&${hours}`, name, 2 * hostile.length + 1] as const),
  [`/candles?${market}&${hours}`, 'candles', 2 * hostile.length + 1],
  [`/candles/market?${kraken}&interval=h1&${hours}`, 'candles', 48],
  [
    `/candles?exchange=binance&baseId=bitcoin&quoteId=tether&interval=m1&start=${nowMs - 600 * minuteMs}&end=${nowMs}`,
    'candles',
    580,
  ],
  [`/candles?${kraken}&interval=h4&${hours}`, 'candles', 12],
  ['/assets/bitcoin/history?interval=d1', 'asset_history', 360],
  [`/assets/bitcoin/history?interval=h6&${hours}`, 'asset_history', 8],
  ['/points/asset_history?assetId=bitcoin&interval=d1&start=1325376000000', 'asset_history', 4000],
] as const)('%s is the same as Arrow and as JSON', async (path, dataset, least) => {
  const [json, arrow] = [await get(path), await getArrow(path)];
  expect([json.status, json.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  expect([arrow.status, arrow.headers['content-type']]).toEqual([200, arrowType]);
  for (const header of same) expect([header, arrow.headers[header]]).toEqual([header, json.headers[header]]);
  const table = tableFromIPC(arrow.body);
  const { columns, timeField } = datasetOf(dataset);
  expect(table.schema.fields.map((field) => [field.name, String(field.type), field.nullable])).toEqual([
    [timeField, 'Timestamp<MILLISECOND, UTC>', false],
    ...columns.map(({ json: name, isOptional = false }) => [name, 'Decimal[38e+20]', isOptional]),
  ]);
  const expected = expectedOf(json.body, dataset);
  expect(expected.length).toBeGreaterThanOrEqual(least);
  expect(rowsOf(table)).toEqual(expected);
});

it('gives negative and null values among those rows', async () => {
  const { body } = await getArrow(`/points/open_interest?${market}&${hours}`);
  const rows = rowsOf(tableFromIPC(body));
  expect(rows.filter(({ value }) => value === null)).toHaveLength(8);
  expect(rows.filter(({ amount }) => (amount as bigint) < 0n).length).toBeGreaterThan(8);
  const all = rows.flatMap(({ amount }) => amount);
  expect(all).toEqual(expect.arrayContaining([-(10n ** 38n) + 1n, 1n]));
});

it('has the series and its coverage in the metadata of the schema', async () => {
  const { body, headers } = await getArrow(`/candles?${kraken}&interval=h4&${hours}`);
  expect(Object.fromEntries(tableFromIPC(body).schema.metadata)).toEqual({
    ...{ dataset: 'candles', exchange: 'kraken', baseId: 'bitcoin', quoteId: 'euro', interval: 'h4' },
    coverage: headers['x-tidemark-coverage'],
    derivedFrom: 'h1',
  });
});

it('has a schema and no rows where nothing is stored', async () => {
  const earlier = `start=${startMs - 90 * hourMs}&end=${startMs - 48 * hourMs}`;
  for (const path of [`/candles?${kraken}&interval=h1&${earlier}`, `/candles?${kraken}&interval=w1&${earlier}`]) {
    const { status, headers, body } = await getArrow(path);
    expect([status, headers['x-tidemark-coverage']]).toEqual([200, expect.stringContaining('share=')]);
    const table = tableFromIPC(body);
    expect([table.numRows, table.schema.fields.map(({ name }) => name)]).toEqual([
      0,
      ['period', 'open', 'high', 'low', 'close', 'volume'],
    ]);
  }
});

describe('a value that does not fit', () => {
  it.each([
    ['0.000000000000000000001', 'has 21 fraction digits; DECIMAL(38, 20) holds 20'],
    ['1000000000000000000', 'has 19 digits before the point; DECIMAL(38, 20) holds 18'],
    ['1e-150', 'has 150 fraction digits; DECIMAL(38, 20) holds 20'],
  ])('%s is refused, and in JSON', async (value, reason) => {
    const baseId = `coin${value.length}`;
    await commitHostile({ ...ofPerpetual, baseId, dataset: 'candles' } as SeriesKey, [value, '1']);
    const path = `/candles?${market.replace('bitcoin', baseId)}&${hours}`;
    const refused = await getArrow(path);
    expect([refused.status, refused.headers['content-type']]).toEqual([406, 'application/json; charset=utf-8']);
    expect(JSON.parse(refused.body.toString())).toEqual({
      error: `open of 2024-04-01T00:00:00Z ${reason}: request application/json, which has all digits`,
      timestamp: nowMs,
    });
    expect(refused.headers['cache-control']).toBe('no-store');
    const json = await get(path);
    const [first] = JSON.parse(json.body.toString()).data;
    expect([json.status, first.open]).toEqual([200, value === '1e-150' ? `0.${'1'.padStart(150, '0')}` : value]);
  });
});

it.each([
  [arrowType, true],
  ['Application/Vnd.Apache.Arrow.Stream; q=0.3', true],
  [`${arrowType}, application/json`, true],
  [`application/json;q=0.9, ${arrowType};q=1.0`, true],
  [`${arrowType}, */*;q=0.1`, true],
  [`${arrowType};q=0.5, application/json`, false],
  [`${arrowType};q=0.5, */*`, false],
  [`${arrowType};q=0`, false],
  ['*/*', false],
  ['application/*', false],
  ['application/vnd.apache.arrow.file', false],
  ['text/csv', false],
  ['', false],
])('Accept: %s', async (accept, isArrow) => {
  const { status, headers } = await get(`/candles?${kraken}&interval=h1&${hours}`, { accept });
  expect([status, headers['content-type']]).toEqual([200, isArrow ? arrowType : 'application/json; charset=utf-8']);
});

it('names Accept in Vary where the answer depends on it, and only there', async () => {
  const [candles, refused, assets] = [
    await getArrow(`/candles?${kraken}&interval=h1&${hours}`),
    await getArrow('/candles?exchange=kraken&interval=h7'),
    await getArrow('/assets?limit=2'),
  ];
  expect(candles.headers.vary).toBe('authorization, accept, accept-encoding');
  expect(refused.headers.vary).toBe('authorization, accept');
  expect(assets.headers.vary).toBe('authorization');
  expect(assets.headers['content-type']).toBe('application/json; charset=utf-8');
});

it.each([
  [400, '/candles?exchange=kraken&interval=h7'],
  [400, `/candles?${kraken}&interval=m1&start=0&end=${nowMs}`],
  [404, '/assets/asdf/history?interval=h1'],
  [404, `/points/candles?${kraken.replace('bitcoin', 'asdf')}&interval=h1`],
])('refuses with %i in JSON: %s', async (status, path) => {
  const [json, arrow] = [await get(path), await getArrow(path)];
  expect([arrow.status, arrow.body.toString(), arrow.headers['content-type']]).toEqual([
    status,
    json.body.toString(),
    'application/json; charset=utf-8',
  ]);
});

it('has a tag of its own, answers 304 and HEAD, and is compressed like JSON', async () => {
  const path = `/candles?${kraken}&interval=h1&${hours}`;
  const [json, arrow] = [await get(path), await getArrow(path)];
  const tag = String(arrow.headers.etag);
  expect(tag).not.toBe(json.headers.etag);
  expect((await getArrow(path, { 'if-none-match': tag })).status).toBe(304);
  expect((await get(path, { 'if-none-match': tag })).status).toBe(200);
  const head = await get(path, { accept: arrowType }, 'HEAD');
  expect([head.status, head.body.length, head.headers['content-length'], head.headers.etag]).toEqual([
    ...[200, 0, String(arrow.body.length), tag],
  ]);
  for (const [encoding, decompress] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const compressed = await getArrow(path, { 'accept-encoding': encoding });
    expect([compressed.headers['content-encoding'], compressed.headers.etag]).toEqual([encoding, tag]);
    expect(compressed.body.length).toBeLessThan(arrow.body.length);
    expect(decompress(compressed.body)).toEqual(arrow.body);
  }
});
