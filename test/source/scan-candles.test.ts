import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { candlesOf } from '../../contract/candle-lines.ts';
import { candleAnswer, listAnswer } from '../../source/answer.ts';
import { candleReader } from '../../source/rows.ts';
import { scanCandles } from '../../source/scan-candles.ts';

const candle = { open: '1.50', high: '2', low: '1', close: '1.5', volume: '0.0', period: 3_600_000 };
const decimal = fc.oneof(
  { weight: 30, arbitrary: fc.stringMatching(/^(0|[1-9]\d{0,9})(\.\d{1,20})?$/) },
  fc.constantFrom(
    '0',
    '-0',
    '01',
    '1e3',
    '.5',
    '1.',
    '',
    'NaN',
    '9'.repeat(99),
    '9'.repeat(201),
    '\u0661',
    '1"',
  ),
);
const candleLike = fc.record({
  open: decimal,
  high: decimal,
  low: decimal,
  close: decimal,
  volume: decimal,
  period: fc.oneof(
    { weight: 30, arbitrary: fc.nat({ max: 40 }).map((hour) => hour * 3_600_000) },
    fc.constantFrom(-1, 0.5, 1e15, '7', null),
  ),
});
const plain = (value: unknown) => Buffer.from(JSON.stringify(value));
const scan = (body: Buffer) => scanCandles(body, 'h1');
const read = (body: Buffer) => {
  const answer = candleAnswer(reply(body), 'h1');
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
  test('equal the candles of JSON and the schema, or are left to them', () => {
    let scanned = 0;
    const answers = fc.record({
      data: fc.array(candleLike, { minLength: 1, maxLength: 4 }),
      timestamp: fc.nat(),
    });
    fc.assert(
      fc.property(answers, (answer) => {
        const body = plain(answer);
        if (scan(body) !== null) scanned += 1;
        expect(read(body)).toEqual(listAnswer(reply(body), candleReader('h1')));
      }),
      { numRuns: 2000 },
    );
    expect(scanned).toBeGreaterThan(100);
  });

  test('a changed byte is never misread', () => {
    const body = plain({ data: [candle, { ...candle, period: 7_200_000 }], timestamp: 9 });
    fc.assert(
      fc.property(fc.nat({ max: body.length - 1 }), fc.nat({ max: 255 }), (place, byte) => {
        const changed = Buffer.from(body);
        changed[place] = byte;
        const result = scan(changed);
        if (result === null) return;
        const { data, timestamp } = JSON.parse(changed.toString());
        const impossible = result.impossible.map(({ candle }) => JSON.stringify(candle));
        const kept = data.filter((row: unknown) => !impossible.includes(JSON.stringify(row)));
        expect(candlesOf(result.rows)).toEqual(kept);
        expect([kept.length + impossible.length, result.sourceTimeMs]).toEqual([data.length, timestamp]);
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    ['white space', '{ "data":[{}],"timestamp":1}'],
    ['an empty list', '{"data":[],"timestamp":1}'],
    ['another order', '{"timestamp":1,"data":[]}'],
    ['no timestamp', JSON.stringify({ data: [candle] })],
    ['more after it', `${JSON.stringify({ data: [candle], timestamp: 1 })}x`],
    ['cut off', JSON.stringify({ data: [candle], timestamp: 1 }).slice(0, -1)],
    ['a price as a number', JSON.stringify({ data: [{ ...candle, open: 1.5 }], timestamp: 1 })],
    ['a further field', JSON.stringify({ data: [{ ...candle, trades: 1 }], timestamp: 1 })],
    ['nothing', ''],
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
