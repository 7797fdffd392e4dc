/** Names of datasets on the command line. */

import { TidemarkError } from '../../errors.ts';
import { type StoredDataset, storedDatasets, storedWords } from '../../model/stored-datasets.ts';

/** @throws TidemarkError BAD_ARGUMENT */
export function datasetOf(word: string): StoredDataset {
  const dataset = storedDatasets.find((one) => storedWords[one] === word);
  if (dataset !== undefined) return dataset;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `the dataset is one of ${Object.values(storedWords).join(', ')}, not ${JSON.stringify(word)}`,
  );
}
