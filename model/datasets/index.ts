/** Every dataset of points, by its name. */

import type { Dataset } from '../dataset.ts';
import { assetHistory } from './asset-history.ts';
import { candles, indexCandles, markCandles, premiumCandles } from './candles.ts';
import { fundingRates } from './funding-rates.ts';
import { longShortRatios } from './long-short-ratios.ts';
import { openInterest } from './open-interest.ts';

export const datasets = {
  candles,
  asset_history: assetHistory,
  mark_candles: markCandles,
  index_candles: indexCandles,
  premium_candles: premiumCandles,
  funding_rates: fundingRates,
  open_interest: openInterest,
  long_short_ratios: longShortRatios,
} as const;

export type Datasets = typeof datasets;
export type DatasetName = keyof Datasets;

export const datasetNames = Object.keys(datasets) as readonly DatasetName[];

type NameOf<Of extends Dataset['of']> = {
  [Name in DatasetName]: Datasets[Name]['of'] extends Of ? Name : never;
}[DatasetName];
export type MarketDataset = NameOf<'market'>;
export type AssetDataset = NameOf<'asset'>;

export const marketDatasets = datasetNames.filter((name): name is MarketDataset => datasets[name].of === 'market');
export const assetDatasets = datasetNames.filter((name): name is AssetDataset => datasets[name].of === 'asset');

/** The descriptor, in the type that all have. */
export function datasetOf(name: DatasetName): Dataset {
  return datasets[name];
}

/** An entry for each dataset. */
export function byDataset<Value>(value: (dataset: Dataset, name: DatasetName) => Value): Record<DatasetName, Value> {
  return Object.fromEntries(datasetNames.map((name) => [name, value(datasets[name], name)])) as Record<
    DatasetName,
    Value
  >;
}

/** How far beside a window of events they are asked for; 0: the points of the dataset are no events. */
export function eventReachMs(name: DatasetName): number {
  const { time } = datasetOf(name);
  return time.density === 'linked' ? time.reachMs : 0;
}

/** Names of the value columns, in their order. */
export const columnNames = byDataset(({ columns }): readonly string[] => columns.map(({ name }) => name));

/** A dataset in a sentence: `asset history`. */
export function datasetText(name: string): string {
  return name.replaceAll('_', ' ');
}
