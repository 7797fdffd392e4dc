/** What is stored as points, each in its own table: datasets, and lists of which every poll is kept. */

import { byDataset, type DatasetName, datasets } from './datasets/index.ts';
import { lists, type PointList, pointLists } from './lists/index.ts';

export type StoredDataset = DatasetName | PointList;

const ofLists = <Value>(value: (name: PointList) => Value) =>
  Object.fromEntries(pointLists.map((name) => [name, value(name)])) as Record<PointList, Value>;

export const storedTables: Readonly<Record<StoredDataset, string>> = Object.freeze({
  ...byDataset(({ table }) => table),
  ...ofLists((name) => lists[name].tables.states),
});

/** On the command line and in the watch list. */
export const storedWords = Object.freeze({
  ...byDataset((_, name) => datasets[name].word),
  ...ofLists((name) => lists[name].word),
});

export const storedDatasets = Object.freeze(Object.keys(storedTables)) as readonly StoredDataset[];
