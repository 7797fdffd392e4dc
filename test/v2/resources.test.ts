import { expect, test } from 'vitest';
import { asset, assetMarket, exchange, points, rate } from '../../v2/resources.ts';
import { describeRecordings, recordedLists, recording } from '../recordings.ts';

const schemas = { asset, assetMarket, candle: points.candles, exchange, historyPoint: points.asset_history, rate };

const dollar = { id: 'united-states-dollar', symbol: 'USD', currencySymbol: '$', rateUsd: '1.0', type: 'fiat' };

test('keeps digits and zeros of decimals', () => {
  expect(rate.parse({ ...dollar, rateUsd: '0.08890902579535300000' }).rateUsd).toBe('0.08890902579535300000');
  expect(rate.parse({ ...dollar, rateUsd: 3 }).rateUsd).toBe('3');
});

test.each([1.5, 2 ** 53, Number.NaN, '', 'abc', 'NaN', null, true, {}])('%s is no exact decimal', (rateUsd) => {
  expect(rate.safeParse({ ...dollar, rateUsd }).success).toBe(false);
});

test('drops unknown fields and reads absent fields as null', () => {
  expect(rate.parse({ ...dollar, currencySymbol: undefined, explorer: 'x' })).toEqual({
    ...dollar,
    currencySymbol: null,
  });
});

test.each(['NUL \0', 'half a pair \ud800', 'x'.repeat(201), ''])('rejects the id %j', (id) => {
  expect(rate.safeParse({ ...dollar, id }).success).toBe(false);
});

test.each(['icelandic-króna', 'a(b)', '𝒳'])('accepts the id %j', (id) => {
  expect(rate.parse({ ...dollar, id }).id).toBe(id);
});

test('accepts only integer milliseconds as times', () => {
  const point = { priceUsd: '1', time: 0 };
  expect(schemas.historyPoint.safeParse(point).success).toBe(true);
  for (const time of ['0', 0.5, -1, null, 9e15])
    expect(schemas.historyPoint.safeParse({ ...point, time }).success).toBe(false);
});

describeRecordings('recorded answers', () => {
  test.each(recordedLists)('$name: accepts every row and keeps every value', ({ name, resource, rows }) => {
    const { data }: { data: Record<string, unknown>[] } = JSON.parse(recording(name));
    expect(data).toHaveLength(rows);
    for (const row of data) {
      const read: Record<string, unknown> = schemas[resource].parse(row);
      for (const [field, value] of Object.entries(read)) {
        const written = field === 'id' ? (row.id ?? row.exchangeId) : row[field];
        expect(typeof value === 'number' ? String(value) : value).toEqual(
          typeof value === 'number' ? String(written) : (written ?? null),
        );
      }
    }
  });
});
