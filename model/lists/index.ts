/** Every polled list, by its name. */

import type { List } from '../list.ts';
import { assetMarkets } from './asset-markets.ts';
import { assets } from './assets.ts';
import { exchanges } from './exchanges.ts';
import { markets } from './markets.ts';
import { rates } from './rates.ts';

/** In the order in which they are shown. */
export const lists = { assets, exchanges, markets, rates, asset_markets: assetMarkets } as const;

export type Lists = typeof lists;
export type ListName = keyof Lists;
type NameOf<Facts> = { [Name in ListName]: Lists[Name] extends Facts ? Name : never }[ListName];
/** Lists of which every poll is stored, as points. */
export type PointList = NameOf<{ readonly keeps: 'every poll' }>;
/** Lists of all entries: one of each is polled. */
export type WholeList = NameOf<{ readonly askedFor: 'all' }>;
/** Lists of the entries of an asset: one of each tracked asset is polled. */
export type AssetList = NameOf<{ readonly askedFor: 'asset' }>;

export const listNames = Object.keys(lists) as readonly ListName[];
export const eachList: readonly List[] = Object.values(lists);
export const isPointList = (name: string): name is PointList => lists[name as ListName]?.keeps === 'every poll';
export const pointLists = listNames.filter(isPointList);
export const wholeLists = listNames.filter((name): name is WholeList => lists[name].askedFor === 'all');
export const assetLists = listNames.filter((name): name is AssetList => lists[name].askedFor === 'asset');

/** What is polled: a whole list, or that of an asset. */
export interface PolledList {
  readonly dataset: ListName;
  /** Null: the whole list. */
  readonly asset: string | null;
}

/** The display name: `assets` or `markets of bitcoin`. */
export function listName({ dataset, asset }: PolledList): string {
  return asset === null ? dataset : `${lists[dataset].entries} of ${asset}`;
}

/** An entry as a source gives it. */
export type ListRow = Readonly<Record<string, string | number | boolean | null>>;
