/** The lists that the source gives only as of now, so that their history begins with our first poll. */

/** Lists of which every poll keeps the rows that changed. Rates, of which every poll keeps all, are not among them. */
export const snapshotDatasets = ['assets', 'exchanges', 'markets', 'asset_markets'] as const;

export type SnapshotDataset = (typeof snapshotDatasets)[number];

export type PolledDataset = SnapshotDataset | 'rates';

/** A list whose changes are followed: one of the source's own, or the markets of one asset. */
export type SnapshotList =
  | { readonly dataset: Exclude<SnapshotDataset, 'asset_markets'>; readonly asset: null }
  | { readonly dataset: 'asset_markets'; readonly asset: string };

export type PolledList = SnapshotList | { readonly dataset: 'rates'; readonly asset: null };

/** `assets` or `markets of bitcoin`: the name people read. */
export function listName({ dataset, asset }: PolledList): string {
  return dataset === 'asset_markets' ? `markets of ${asset}` : dataset;
}
