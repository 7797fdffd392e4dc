/** Names of datasets on the command line. */

import { TidemarkError } from '../../errors.ts';
import type { StoredDataset } from '../../model/series.ts';

export const datasetNames = Object.freeze({
  candles: 'candles',
  asset_history: 'history',
  rates: 'rates',
} as const satisfies Record<StoredDataset, string>);

/** @throws TidemarkError BAD_ARGUMENT */
export function datasetOf(word: string): StoredDataset {
  const datasets = Object.keys(datasetNames) as StoredDataset[];
  const dataset = datasets.find((one) => datasetNames[one] === word);
  if (dataset !== undefined) return dataset;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `the dataset is one of ${Object.values(datasetNames).join(', ')}, not ${JSON.stringify(word)}`,
  );
}
