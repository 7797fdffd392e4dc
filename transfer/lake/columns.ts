/** The columns of the files of a lake. */

import { type Digits, maxDigits } from '../../files/decimals/decimal-type.ts';
import { layouts } from '../../files/layout.ts';
import type { Columns } from '../../files/parquet/schema.ts';
import type { DatasetName } from '../../model/datasets/index.ts';
import type { LakeFormat } from './manifest.ts';

export function columnsOf(dataset: DatasetName, format: LakeFormat): Columns {
  const layout = layouts[dataset];
  return {
    layout,
    digits: layout.values.map(() => digitsOf(format)),
    hasDoubles: format.doubles,
    ...(format.iceberg ? { timeUnit: 'MICROS' as const } : {}),
  };
}

/** All files have the same type: readers of many take that of one, and would round to it. */
function digitsOf({ decimals }: LakeFormat): Digits {
  return decimals === 'text'
    ? { beforePoint: maxDigits + 1, afterPoint: 0 }
    : { beforePoint: maxDigits - decimals, afterPoint: decimals };
}
