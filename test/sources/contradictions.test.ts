import { expect, test } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import { serveBody, sourceAt } from './local-server.ts';
import { candlesAt, historyAt } from './points-at.ts';

const market = { exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'h1' } as const;
const candle = (hour: number, close: string) =>
  `{"open":"1","high":"9","low":"1","close":"${close}","volume":"5","period":${hour * hourMs}}`;

test.each([
  ['as bytes', ''],
  ['as JSON', ' '],
])('rows of one period that differ are all rejected, equal ones are kept: candles, read %s', async (_, space) => {
  const rows = [candle(0, '2'), candle(1, '2'), candle(1, '2.0'), candle(2, '3'), candle(3, '2'), candle(2, '4')];
  const { baseUrl } = await serveBody(`{"data":${space}[${rows.join()}],"timestamp":1}`);
  const answer = await candlesAt(sourceAt(baseUrl), market);
  expect(answer.rows.map(({ period, close }) => [period / hourMs, close])).toEqual([
    [0, '2'],
    [1, '2'],
    [1, '2.0'],
    [3, '2'],
  ]);
  expect(answer.rejected).toEqual(
    ['3', '4'].map((close) => ({
      reason: 'another row of the same period has other values',
      timeMs: 2 * hourMs,
      isDisputed: true,
      raw: expect.stringContaining(`"close":"${close}"`),
    })),
  );
});

test('and points of a history', async () => {
  const rows = ['1.5', '1.50', '7'].map((priceUsd, place) => ({ priceUsd, time: place > 1 ? hourMs : 0 }));
  const { baseUrl } = await serveBody({ data: [...rows, { priceUsd: '8', time: hourMs }], timestamp: 1 });
  const { rows: kept, rejected } = await historyAt(sourceAt(baseUrl), 'a', { interval: 'h1' });
  expect([kept.map(({ priceUsd }) => priceUsd), rejected.length]).toEqual([['1.5', '1.50'], 2]);
});

test('and rates of a currency', async () => {
  const rates = ['1.5', '1.50', '7', '8'].map((rateUsd, place) => ({
    ...{ id: place > 1 ? 'b' : 'a', symbol: 'X', currencySymbol: null, type: 'crypto' },
    rateUsd,
  }));
  const { baseUrl } = await serveBody({ data: rates, timestamp: 1 });
  const { rows, rejected } = await sourceAt(baseUrl).list('rates');
  expect(rows.map(({ rateUsd }) => rateUsd)).toEqual(['1.5', '1.50']);
  expect(rejected.map(({ reason }) => reason)).toEqual(
    Array(2).fill('another row of the same currency has other values'),
  );
});

test.each([
  ['as bytes', ''],
  ['as JSON', ' '],
])('quotes the rows that differ of a long answer, not its beginning, read %s', async (_, space) => {
  const close = (last: string) => `1.${'0'.repeat(120)}${last}`;
  const of = [...Array(500).keys()].map((hour) => candle(hour, close('5')));
  const other = candle(480, close('7'));
  const rows = [`{"open":null,"period":0}`, ...of.slice(1), other];
  const { baseUrl } = await serveBody(`{"data":${space}[${rows.join()}],"timestamp":1}`);
  const { rejected, body } = await candlesAt(sourceAt(baseUrl), market);
  expect(rejected.map(({ isDisputed }) => isDisputed)).toEqual([true, true, undefined]);
  expect(body).toBe(`${of[480]}, ${other}, {"open":null,"period":0}`);
});

test('quotes at least two rejected rows, and says how many more there are', async () => {
  const rows = [...Array(30).keys()].map((hour) => `{"open":"${'9'.repeat(700)}","period":${hour * hourMs}}`);
  const { baseUrl } = await serveBody(`{"data":[${rows.join()}],"timestamp":1}`);
  const { body } = await candlesAt(sourceAt(baseUrl), market);
  expect(body).toBe(`${rows[0]}, ${rows[1]}, and 28 more`);
});
