/** Mutations of the text of an answer. */

import fc from 'fast-check';

const pair = /"(\w+)":("(?:[^"\\]|\\.)*"|[-\w.]+)/g;

/** Values that replace another one. */
const oddValues = [
  ...['null', 'true', '{}', '[]', '""', '" "', '"NaN"', '"Infinity"', '"-"', '"1,5"', '" 1"', '"1 "'],
  ...['"+1"', '"0x10"', '0', '-0', '-5', '"-5.10"', '0.10', '1e3', '"1e3"', '1E-7', '"1.50e1"'],
  ...['1e150', '"1e151"', '1e400', '1e-400', '"00012.50"', '"1."', '".5"', '"1.5.5"', '"\u0661\u0662"'],
  ...['"\uff11"', '"1\u200b"', '"\\u0031.5"', '"\\u0000"', '9007199254740993'],
  ...['1.0000000000000000000000000001', '123456789012345678901234567890', '"12345678901234567890.10"'],
  ...['8640000000000000', '8640000000000001', '1e12', '1700000000000.0', '"1700000000000"', '-1'],
  ...['999999999999999', '"\\ud800"', '"\\ud83d\\ude00"', '"\u{1F600}"', '"__proto__"'],
  ...['{"__proto__":{"open":"1"}}', '{"toString":1}'],
  ...[`"${'9'.repeat(200)}"`, `"${'9'.repeat(201)}"`, '9'.repeat(400), `0.${'1'.repeat(300)}`],
  ...[100, 20_000].flatMap((depth) => [
    '['.repeat(depth) + ']'.repeat(depth),
    `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
  ]),
];
const oddNames = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', 'length', ''],
  ...['Open', 'open ', 'ope\\u006e', '\\u0070eriod', 'open', 'high', 'low', 'close', 'volume'],
  ...['period', 'time', 'priceUsd', 'data', 'timestamp', 'error', 'message', 'id', 'rateUsd', '0'],
  ...['\uFEFFopen', 'öpen'],
];

type Mutation = (text: string) => string | Buffer;

/** The place in the text and the length: shares of the whole. */
const at = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** Changes the n-th field of the text. */
function atField(share: number, change: (name: string, value: string) => string): Mutation {
  return (text) => {
    const fields = [...text.matchAll(pair)];
    const match = fields[Math.floor(share * fields.length)];
    if (match === undefined) return text;
    const [whole, name = '', value = ''] = match;
    return text.slice(0, match.index) + change(name, value) + text.slice(match.index + whole.length);
  };
}

const onFields = fc.oneof(
  fc.tuple(at, fc.constantFrom(...oddValues)).map(([share, odd]) => atField(share, (name) => `"${name}":${odd}`)),
  fc.tuple(at, fc.constantFrom(...oddNames)).map(([share, odd]) => atField(share, (_, value) => `"${odd}":${value}`)),
  fc
    .tuple(at, fc.constantFrom(...oddValues, '"7.70"'))
    .map(([share, odd]) => atField(share, (name, value) => `"${name}":${odd},"${name}":${value}`)),
  fc
    .tuple(at, fc.constantFrom(...oddValues, '"7.70"'))
    .map(([share, odd]) => atField(share, (name, value) => `"${name}":${value},"${name}":${odd}`)),
  at.map((share) => atField(share, () => '"dropped":1')),
  // Converts a decimal between text and number.
  at.map((share) =>
    atField(share, (name, value) => `"${name}":${value.startsWith('"') ? value.slice(1, -1) : `"${value}"`}`),
  ),
);

const onText = fc.oneof(
  at.map(
    (share): Mutation =>
      (text) =>
        text.slice(0, share * text.length),
  ),
  fc.tuple(at, at).map(
    ([from, to]): Mutation =>
      (text) => {
        const [a, b] = [from * text.length, to * text.length].map(Math.floor).sort((x, y) => x - y);
        return text.slice(0, a) + text.slice(b);
      },
  ),
  fc.tuple(at, fc.constantFrom(' ', '\n', '\u0000', '\uFEFF', ',', ']', '}', '"', '\\', '0', 'é')).map(
    ([share, insert]): Mutation =>
      (text) =>
        text.slice(0, share * text.length) + insert + text.slice(share * text.length),
  ),
  fc.constantFrom<Mutation>(
    (text) => `\uFEFF${text}`,
    (text) => ` ${text}\r\n`,
    (text) => text.replaceAll(/([:,])/g, '$1 '),
    (text) => text.replace(/^\{"data":(.*),"timestamp":\d+\}$/, '$1'),
    (text) => text.replace('"data":', '"data":{"message":"we are retiring"},"rows":'),
    (text) => text.replace('"data":[', '"data":[null,7,"x",[],{},'),
    (text) => text.replace('"data":', '"__proto__":{"data":[]},"data":'),
    (text) => text.replace(/^\{/, '{"error":"x not found",'),
    (text) => `<html>${text}</html>`,
    () => '',
    () => 'null',
  ),
);

const onBytes = fc.oneof(
  fc.tuple(at, fc.integer({ min: 0, max: 255 })).map(
    ([share, byte]): Mutation =>
      (text) => {
        const bytes = Buffer.from(text);
        if (bytes.length > 0) bytes[Math.floor(share * bytes.length)] = byte;
        return bytes;
      },
  ),
  fc.tuple(at, fc.integer({ min: 0, max: 7 })).map(
    ([share, bit]): Mutation =>
      (text) => {
        const bytes = Buffer.from(text);
        const place = Math.floor(share * bytes.length);
        if (bytes.length > 0) bytes[place] = (bytes[place] ?? 0) ^ (1 << bit);
        return bytes;
      },
  ),
);

/** One to three changes of fields and text, and sometimes of a byte. */
export const mutation: fc.Arbitrary<(text: string) => Buffer> = fc
  .tuple(
    fc.array(fc.oneof({ weight: 3, arbitrary: onFields }, { weight: 1, arbitrary: onText }), {
      minLength: 0,
      maxLength: 3,
    }),
    fc.option(onBytes, { freq: 3 }),
  )
  .map(([changes, last]) => (text: string) => {
    const changed = changes.reduce((now, change) => String(change(now)), text);
    return Buffer.from(last === null ? changed : last(changed));
  });
