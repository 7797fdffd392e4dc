import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventTime, plainReaders, pointReader, readAsset, schemaReaders } from '../../sources/rows.ts';
import { serveBody, sourceAt } from './local-server.ts';
import { candlesAt } from './points-at.ts';

const candles = { exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval: 'h1' } as const;
const candle = { open: '1.50', high: '2', low: '1', close: '1.5', volume: '0.0', period: 3_600_000 };

describe('rows', () => {
  test('an invalid row is rejected alone, and kept verbatim', async () => {
    const bad = { ...candle, high: '1.4999999999999999' };
    const server = await serveBody({
      data: [candle, bad, null, { ...candle, period: 7 }, { ...candle, close: 'x' }, candle],
    });
    const answer = await candlesAt(sourceAt(server.baseUrl), candles);
    expect(answer.rows).toEqual([candle, candle]);
    expect(answer.rejected).toEqual([
      { raw: JSON.stringify(bad), reason: 'open is above high' },
      { raw: 'null', reason: 'not an object' },
      { raw: JSON.stringify({ ...candle, period: 7 }), reason: 'does not start a period of h1' },
      { raw: JSON.stringify({ ...candle, close: 'x' }), reason: 'close: not a decimal' },
    ]);
  });

  test('a rejected row is kept up to a maximum length, at any depth', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const server = await serveBody(`{"data":[{"id":"${'x'.repeat(5000)}"},${deep}]}`);
    const { rows, rejected } = await sourceAt(server.baseUrl).list('rates');
    expect(rows).toEqual([]);
    expect(rejected.map(({ raw }) => raw.length <= 2000)).toEqual([true, true]);
  });
});

test.each([
  ['of the full hour', 0, { rate: '0.0001' }, { rate: '0.0001', delayMs: '0' }],
  ['15 ms late', 15, { rate: '-8.1e-10' }, { rate: '-8.1e-10', delayMs: '15' }],
  ['a second early', -1000, { rate: '0E-16' }, { rate: '0E-16', delayMs: '-1000' }],
])('an event %s has the time of the hour, and its delay', (_, delayMs, values, expected) => {
  const hour = Date.UTC(2024, 0, 1, 8);
  const { timeMs, delay } = eventTime('funding_rates', 'h1', hour + delayMs);
  const point = pointReader('funding_rates', 'h1')({ time: timeMs, ...values, delayMs: delay?.delay_ms });
  expect(point).toEqual({ timeMs: hour, values: [expected.rate, null, null, expected.delayMs] });
});

test.each([
  ['funding_rates', 'h1', { time: Date.UTC(2023, 4, 23, 8, 23, 53, 40), rate: '1' }, /^does not start a period of h1$/],
  ['open_interest', 'm5', { time: 0, amount: '0.000', value: '0E-16' }, /^all values are zero or absent/],
  ['open_interest', 'm5', { time: 0, amount: '-1' }, /^amount is negative$/],
  ['long_short_ratios', 'm5', { time: 0 }, /^all values are zero or absent/],
  ['mark_candles', 'm1', { period: 0, open: '0', high: '0', low: '0', close: '0.0' }, /^all values are zero or absent/],
  ['mark_candles', 'm1', { period: 0, open: '3', high: '2', low: '1', close: '1' }, /^open is above high$/],
  ['premium_candles', 'm1', { period: 0, open: '0', high: '-2', low: '-1', close: '0' }, /^high is below low$/],
] as const)('%s of %s: %j is refused', (dataset, interval, row, reason) => {
  const { time, ...rest } = row as { readonly time?: number };
  const placed = time === undefined ? row : { time: eventTime(dataset, interval, time).timeMs, ...rest };
  expect(pointReader(dataset, interval)(placed)).toMatch(reason);
});

test.each([
  ['funding_rates', 'h1', { rate: '0.0', intervalHours: '0', markPrice: '0.00000000' }, ['0.0', null, null, null]],
  ['open_interest', 'm5', { amount: '1', value: '0E-16' }, ['1', null]],
  ['long_short_ratios', 'm5', { ratio: '1', takerRatio: '0' }, ['1', null, null, null, null, '0']],
] as const)('%s of %s: of %j a zero that cannot be a value is none', (dataset, interval, row, values) => {
  expect(pointReader(dataset, interval)({ time: 0, ...row })).toEqual({ timeMs: 0, values });
});

test('a premium may open outside of its highest and lowest, and be negative', () => {
  const row = { period: 0, open: '-0.000587', high: '-0.000344', low: '-0.000480', close: '-0.000344' };
  expect(pointReader('premium_candles', 'd1')(row)).toMatchObject({ timeMs: 0 });
});

test.each([
  [{ period: '1704067200000.5' }, 'period: not a whole number'],
  [{ period: 1.5 }, 'period: not a whole number'],
  [{ period: undefined }, 'period: missing'],
  [{ period: -1 }, 'period: less than 0'],
])('says what is wrong with a row in plain words: %j', (wrong, reason) => {
  expect(pointReader('candles', 'h1')({ ...candle, ...wrong })).toBe(reason);
});

test.each([
  [{ id: '' }, 'id: empty'],
  [{ id: 'x'.repeat(201) }, 'id: longer than 200 characters'],
  [{ symbol: 7 }, 'symbol: not text'],
])('says what is wrong with an asset in plain words: %j', (wrong, reason) => {
  expect(readAsset({ id: 'bitcoin', symbol: 'BTC', name: 'Bitcoin', ...wrong })).toBe(reason);
});

describe('points read without the schema', () => {
  const edges = [
    '0',
    '-0',
    '1.50',
    '.5',
    '1e3',
    '1E-151',
    '01',
    '-1.0',
    '',
    'NaN',
    ' 1',
    '9'.repeat(201),
    3,
    0.5,
    null,
  ];
  const decimal = fc.oneof(fc.constantFrom(...edges), fc.double(), fc.stringMatching(/^-?\d{1,3}(\.\d{1,20})?$/));
  const time = fc.oneof(fc.nat(), fc.constantFrom(-1, 0.5, Number.MAX_SAFE_INTEGER, 8.64e15, '7', undefined));
  const fields = { open: decimal, high: decimal, low: decimal, close: decimal, volume: decimal, period: time };
  const candleLike = fc.record({ ...fields, extra: fc.anything() }, { requiredKeys: [] });
  const pointLike = fc.record({ priceUsd: decimal, time, date: fc.string() }, { requiredKeys: [] });

  test('equal the points of the schema, or are left to it', () => {
    fc.assert(
      fc.property(fc.oneof(candleLike, fc.anything()), (value) => {
        const row = plainReaders.candles(value);
        if (row !== null) expect(schemaReaders.candles(value)).toEqual(row);
      }),
    );
    fc.assert(
      fc.property(fc.oneof(pointLike, fc.anything()), (value) => {
        const row = plainReaders.asset_history(value);
        if (row !== null) expect(schemaReaders.asset_history(value)).toEqual(row);
      }),
    );
  });
});
