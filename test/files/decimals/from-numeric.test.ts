/** Decimals in the binary form that PostgreSQL itself gives, compared with its text. */

import { beforeAll, describe, expect, it } from 'vitest';
import { scaleOf, toDouble, toInteger } from '../../../files/decimals/from-numeric.ts';
import { unscaled } from '../../../files/decimals/text.ts';
import { numericText } from '../../../model/binary/numeric.ts';
import { useStore } from '../../store/open-store.ts';

const store = useStore();

const shapes = [
  ...['0', '0.0', '0.000000', '-0.0', '1', '-1', '9', '10', '9999', '10000', '99999999', '-10000.0001'],
  ...['0.1', '0.01', '0.001', '0.0001', '0.00001', '0.12345', '-0.00000000000000000001', '1.10', '1.1000', '-100.500'],
  ...['54952.5439938516801299', '54952.5400000000000000', '123456789012345678.10', '999999999999999999'],
  ...['-999999999999999999.99999999999999999999', '18446744073709551616', '4294967296', '-4294967296.5', '65536'],
  ...['340282366920938463463374607431768211456', '12345678901234567890123456789012345678', `1e130`, `1e-130`],
  ...['9007199254740993', '0.30000000000000004', '1.7976931348623157e308', '1e309', '4.9e-324', '2e22', '1e23'],
  ...['NaN', 'Infinity', '-Infinity', `1.${'0'.repeat(16_383)}`, `0.${'9'.repeat(16_383)}`, `-${'7'.repeat(40_000)}`],
];

interface Given {
  readonly text: string;
  readonly binary: Buffer;
}

describe('a decimal of PostgreSQL', () => {
  let given: Given[];
  beforeAll(async () => {
    const { rows } = await store.database.pool.query<Given>(
      `select value::text as text, '\\x00000000'::bytea || numeric_send(value) as binary
       from (select unnest($1::numeric[]) as value
             union all
             select (case when random() < 0.5 then -1 else 1 end * trunc((10 ^ (40 * random()))::numeric * random()::numeric)
                     / 10 ^ trunc(30 * random())::numeric)::numeric(70, 25)
             from (select setseed(0.42)) seed, generate_series(1, 3000)
             union all
             select trim_scale((random() * 10 ^ trunc(12 * random()))::numeric) from generate_series(1, 3000)) made`,
      [shapes],
    );
    given = rows;
    expect(given.length).toBe(shapes.length + 6000);
  });

  it('has the text that PostgreSQL writes', () => {
    expect(given.map(({ binary }) => numericText(binary, 0))).toEqual(given.map(({ text }) => text));
  });

  it('has as many fraction digits as its text', () => {
    for (const { text, binary } of given)
      expect([text, scaleOf(binary, 0)]).toEqual([text, text.split('.')[1]?.length ?? 0]);
  });

  it('has the nearest double', () => {
    for (const { text, binary } of given) expect([text, toDouble(binary, 0)]).toEqual([text, Number(text) + 0]);
  });

  it.each([0, 1, 2, 3, 4, 5, 8, 11, 16, 18, 20, 23, 30, 38])(
    'is the whole number that BigInt finds, or does not fit: %d digits after the point',
    (afterPoint) => {
      const words = new Int32Array(4);
      let fitting = 0;
      for (const { text, binary } of given)
        for (const beforePoint of new Set([38, 18, afterPoint].map((all) => Math.max(0, all - afterPoint)))) {
          const whole = text.replace(/^-/, '').replace(/\..*/, '').replace(/^0+/, '').length;
          const fraction = (text.split('.')[1] ?? '').replace(/0+$/, '').length;
          const fits = /\d/.test(text) && fraction <= afterPoint && whole <= beforePoint;
          const found = toInteger(binary, 0, { afterPoint, beforePoint }, words);
          expect([text, beforePoint, found]).toEqual([text, beforePoint, fits]);
          if (!fits) continue;
          fitting += 1;
          const value = words.reduceRight((sum, word) => (sum << 32n) | BigInt(word >>> 0), 0n);
          expect([text, BigInt.asIntN(128, value)]).toEqual([text, unscaled(text, afterPoint)]);
        }
      expect(fitting).toBeGreaterThan(10);
    },
  );
});
