/** The lists of the source that have no history, so that their stored history begins with the first poll. */

/** Lists of which a poll stores the changed rows only. Rates are not among them: a poll stores all of them. */
export const snapshotDatasets = ['assets', 'exchanges', 'markets', 'asset_markets'] as const;

export type SnapshotDataset = (typeof snapshotDatasets)[number];

export type PolledDataset = SnapshotDataset | 'rates';

/** A list whose changes are stored: a list of the source, or the markets of one asset. */
export type SnapshotList =
  | { readonly dataset: Exclude<SnapshotDataset, 'asset_markets'>; readonly asset: null }
  | { readonly dataset: 'asset_markets'; readonly asset: string };

export type PolledList = SnapshotList | { readonly dataset: 'rates'; readonly asset: null };

/** The display name: `assets` or `markets of bitcoin`. */
export function listName({ dataset, asset }: PolledList): string {
  return dataset === 'asset_markets' ? `markets of ${asset}` : dataset;
}
