/** A list as the database names it. */

import type { PolledDataset, PolledList } from '../../contract/lists.ts';

export interface ListRow {
  readonly list: PolledDataset;
  readonly asset: string | null;
}

/** @throws RangeError for what no version of the table holds. */
export function listOf({ list, asset }: ListRow): PolledList {
  if (list !== 'asset_markets') return { dataset: list, asset: null };
  if (asset === null) throw new RangeError('the markets of no asset');
  return { dataset: list, asset };
}
