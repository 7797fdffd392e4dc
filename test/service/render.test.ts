import { expect, test } from 'vitest';
import { decimalText } from '../../contract/decimal.ts';
import { renderData, renderHistoryPoint, renderList, renderRate } from '../../service/render.ts';

test.each([
  ['23145.7634895748937483', '23145.7634895748937483'],
  ['0.5000000000000000', '0.5000000000000000'],
  ['-0.10', '-0.10'],
  ['007.50', '7.50'],
  ['-00.5', '-0.5'],
  ['000', '0'],
  ['1.2e-7', '1.2e-7'],
])('%s becomes the JSON number %s', (text, expected) => {
  const json = renderHistoryPoint({ priceUsd: decimalText(text), time: 5 });
  expect(json).toBe(`{"priceUsd":${expected},"time":5}`);
  expect(JSON.parse(json)).toEqual({ priceUsd: Number(text), time: 5 });
});

test('escapes text and renders an empty list', () => {
  const json = renderRate({
    id: 'a"b\\\u2028',
    symbol: '\n',
    currencySymbol: null,
    rateUsd: decimalText('1.0'),
    type: 'fiat',
  });
  expect(JSON.parse(json)).toEqual({
    id: 'a"b\\\u2028',
    symbol: '\n',
    currencySymbol: null,
    rateUsd: '1.0',
    type: 'fiat',
  });
  expect(renderData(renderList([], renderRate), 7)).toBe('{"data":[],"timestamp":7}');
});
