import { describe, expect, test } from 'vitest';
import { pointAt } from '../../model/point-lines.ts';
import { pointsAnswer } from '../../sources/answer.ts';
import { scanPoints } from '../../sources/scan.ts';
import { candlesOf } from '../parts/points.ts';

const candle = { open: '1.50', high: '2', low: '1', close: '1.5', volume: '0.0', period: 3_600_000 };
const plain = (value: unknown) => Buffer.from(JSON.stringify(value));
const scan = (body: Buffer) => scanPoints(body, 'candles', 'h1');
const read = (body: Buffer) => {
  const answer = pointsAnswer(reply(body), { dataset: 'candles', interval: 'h1' });
  return { ...answer, rows: candlesOf(answer.rows) };
};
const reply = (body: Buffer) => ({
  name: 'GET /candles',
  status: 200,
  header: () => undefined,
  body,
  durationMs: 1,
  secret: null,
});

describe('candles read by bytes', () => {
  test.each([
    ['white space', '{ "data":[{}],"timestamp":1}'],
    ['no timestamp', JSON.stringify({ data: [candle] })],
    ['more after it', `${JSON.stringify({ data: [candle], timestamp: 1 })}x`],
    ['cut off', JSON.stringify({ data: [candle], timestamp: 1 }).slice(0, -1)],
    ['a price as a number', JSON.stringify({ data: [{ ...candle, open: 1.5 }], timestamp: 1 })],
  ])('%s is left to JSON', (_, text) => {
    expect(scan(Buffer.from(text))).toBeNull();
  });

  test('only white space of JSON may follow the answer', () => {
    const body = plain({ data: [candle], timestamp: 1 });
    expect(scan(Buffer.concat([body, Buffer.from(' \r\n')]))).not.toBeNull();
    for (const byte of [0x0b, 0x0c, 0xa0]) {
      expect(scan(Buffer.concat([body, Buffer.from([byte])]))).toBeNull();
    }
  });

  test.each([
    ['0.00', null],
    ['0.01', '0.01'],
  ])('of a value %s that cannot be zero: %s', (value, expected) => {
    const body = plain({ data: [{ amount: '0.5', value, time: 0 }], timestamp: 1 });
    const { rows } = pointsAnswer(reply(body), { dataset: 'open_interest', interval: 'm5' });
    expect(pointAt(rows, 0)).toEqual({ timeMs: 0, values: ['0.5', expected] });
  });

  test('reads the plain form without JSON, and keeps an impossible candle verbatim', () => {
    const bad = { ...candle, high: '1.4' };
    const answer = read(plain({ data: [candle, bad], timestamp: 12 }));
    expect(answer).toMatchObject({
      rows: [candle],
      rejected: [{ raw: JSON.stringify(bad), reason: 'open is above high' }],
      sourceTimeMs: 12,
    });
  });
});
