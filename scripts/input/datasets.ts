/** Names of datasets on the command line. */

import { badArgument } from '../../errors.ts';
import { type StoredDataset, storedDatasets, storedWords } from '../../model/stored-datasets.ts';

/** @throws TidemarkError BAD_ARGUMENT */
export function datasetOf(word: string): StoredDataset {
  const dataset = storedDatasets.find((one) => storedWords[one] === word);
  if (dataset !== undefined) return dataset;
  throw badArgument(`the dataset is one of ${Object.values(storedWords).join(', ')}, not ${JSON.stringify(word)}`);
}
