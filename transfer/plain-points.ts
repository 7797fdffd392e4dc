/** Checks points in tuples: what `sources/rows.ts` checks of rows, without an object for each. */

import { compareNumerics, int32At, isNegativeAt, isZeroAt, sizeAt } from '../model/binary/numeric.ts';
import { type Tuples, tupleHead } from '../model/binary/tuples.ts';
import { byDataset, type DatasetName, datasetOf } from '../model/datasets/index.ts';
import type { Interval } from '../model/intervals.ts';
import { isOnGridOf, orders } from '../sources/rows.ts';

/** Whether the point is one that a market may have. False decides nothing: then the row is to be read by itself. */
export type IsPlain = (tuples: Tuples, row: number) => boolean;

export function plainPoints(dataset: DatasetName, interval: Interval): IsPlain {
  const arePossible = possible[dataset];
  return (tuples, row) => isOnGridOf(dataset, tuples.timesMs[row] ?? Number.NaN, interval) && arePossible(tuples, row);
}

const possible = byDataset((_, name): IsPlain => {
  const { columns, areZerosUnknown } = datasetOf(name);
  const ordered = orders[name];
  const isNeverNegative = columns.map(({ least }) => least !== undefined);
  const isNeverZero = columns.map(({ isZeroUnknown = false }) => isZeroUnknown);
  /** Where each value of the row starts; -1: there is none. */
  const starts = new Int32Array(columns.length);
  return ({ bytes, at }, row) => {
    let place = (at[row] ?? 0) + tupleHead;
    let zeros = 0;
    for (let column = 0; column < starts.length; column += 1) {
      const isNone = int32At(bytes, place) < 0;
      starts[column] = isNone ? -1 : place;
      if (isNone) zeros += 1;
      else if (isZeroAt(bytes, place)) {
        if (isNeverZero[column]) return false;
        zeros += 1;
      } else if (isNeverNegative[column] && isNegativeAt(bytes, place)) return false;
      place += sizeAt(bytes, place);
    }
    if (areZerosUnknown && zeros === starts.length) return false;
    for (const [smaller, larger] of ordered) {
      const [least, most] = [starts[smaller] ?? -1, starts[larger] ?? -1];
      if (least >= 0 && most >= 0 && compareNumerics(bytes, least, most) > 0) return false;
    }
    return true;
  };
});
