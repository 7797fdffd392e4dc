import fc from 'fast-check';
import { expect, test } from 'vitest';
import { layouts } from '../../files/layout.ts';
import { isPoints, PageCollector } from '../../files/point-pages.ts';
import { writeDecimal, writeNull } from '../../model/binary/numeric.ts';
import { datasetNames, datasetOf } from '../../model/datasets/index.ts';
import { type DecimalText, decimalText } from '../../model/decimal.ts';
import { impossible, isZero } from '../../sources/rows.ts';
import { plainPoints } from '../../transfer/plain-points.ts';

const value = fc.constantFrom(
  ...['0', '0.00', '1', '1.0', '9.99', '10', '123.4', '-1', '-0.5', '0.0001'].map(decimalText),
);
const minute = Date.UTC(2024, 0, 1);

test.each(datasetNames)(
  '%s: takes no point for plain that is impossible, and any other one but for unknown zeros',
  (name) => {
    const { columns, areZerosUnknown } = datasetOf(name);
    const isPlain = plainPoints(name, 'h1');
    const values = fc.tuple(...columns.map(({ isOptional }) => (isOptional ? fc.option(value) : value)));
    fc.assert(
      fc.property(values, fc.constantFrom(0, 60_000, 3_600_000), (all, offset) => {
        const timeMs = minute + offset;
        const pages = new PageCollector(layouts[name], 'row');
        let end = pages.begin(timeMs);
        for (const one of all) end = one === null ? writeNull(pages.bytes, end) : writeDecimal(one, pages.bytes, end);
        pages.keep(timeMs, end, 1);
        const [page] = pages.take();
        if (page === undefined || !isPoints(page)) throw new Error('no page');
        const isUnknown = (one: DecimalText | null, at: number) =>
          one !== null && columns[at]?.isZeroUnknown === true && isZero(one);
        const isPossible =
          impossible(name, 'h1', { timeMs, values: all }) === null &&
          !all.some(isUnknown) &&
          !(areZerosUnknown && all.every((one) => one === null || isZero(one)));
        expect(isPlain(page.tuples, 0)).toBe(isPossible);
      }),
      { numRuns: 500 },
    );
  },
);
