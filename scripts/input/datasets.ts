/** Names of datasets on the command line. */

import { TidemarkError } from '../../errors.ts';
import { byDataset, type DatasetName, type Datasets, datasets } from '../../model/datasets/index.ts';
import type { StoredDataset } from '../../model/series.ts';

export type DatasetWord = Datasets[DatasetName]['word'] | 'rates';

export const datasetWords: Readonly<Record<StoredDataset, DatasetWord>> = Object.freeze({
  ...byDataset((_, name) => datasets[name].word),
  rates: 'rates',
});

/** @throws TidemarkError BAD_ARGUMENT */
export function datasetOf(word: string): StoredDataset {
  const all = Object.keys(datasetWords) as StoredDataset[];
  const dataset = all.find((one) => datasetWords[one] === word);
  if (dataset !== undefined) return dataset;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `the dataset is one of ${Object.values(datasetWords).join(', ')}, not ${JSON.stringify(word)}`,
  );
}
