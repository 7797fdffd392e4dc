/** The parsed watch list, and problems with their places. */

import type { AssetDataset, MarketDataset } from '../model/datasets/index.ts';
import type { EpochMs, Interval } from '../model/intervals.ts';
import type { ListName, WholeList } from '../model/lists/index.ts';
import { visible } from '../model/names.ts';
import type { StoredDataset } from '../model/stored-datasets.ts';
import type { Start } from '../planning/watch-list-changes.ts';
import type { Alias } from '../store/series/aliases.ts';
import type { RereadOverride } from '../store/settings/settings.ts';

/** Ids and patterns; null: any. */
export type Names = readonly string[] | null;

export interface MarketFilter {
  readonly exchange: Names;
  readonly base: Names;
  readonly quote: Names;
}

/** Series of a dataset, by sources and intervals. */
interface SeriesEntry {
  /** Names of its sources, in order of preference; empty: known series keep theirs, new ones get the default. */
  readonly sources: readonly string[];
  readonly intervals: readonly Interval[];
  readonly start: Start;
  readonly endMs: EpochMs | null;
  readonly place: Place;
}

export interface MarketEntry extends MarketFilter, SeriesEntry {
  readonly dataset: MarketDataset;
  /** Only markets whose base is among the first assets by rank. */
  readonly top: number | null;
  readonly except: readonly MarketFilter[];
  /** Markets by a source's own symbols, in place of the filter. */
  readonly symbols: Names;
}

export interface AssetFilter {
  readonly asset: Names;
  readonly top: number | null;
  readonly except: Names;
  readonly place: Place;
}

export interface AssetEntry extends AssetFilter, SeriesEntry {
  readonly dataset: AssetDataset;
}

/** A list of each of some assets. */
export interface AssetListEntry extends AssetFilter {
  readonly list: ListName;
  readonly everyMs: number;
}

/** A copy in Parquet files that the scheduler keeps fresh. */
export interface LakeEntry {
  readonly directory: string;
  readonly everyMs: number;
  /** Fraction digits of every value; absent: as the lake has them. */
  readonly decimals?: number | 'text';
  /** Absent: as the lake has them. */
  readonly doubles?: boolean;
  /** Absent: as the lake is. */
  readonly iceberg?: boolean;
}

export const targetKinds = ['slack', 'discord', 'ntfy', 'webhook', 'mail'] as const;
export type TargetKind = (typeof targetKinds)[number];

/** The levels from which on a target of `notify` may be told (planning/conditions.ts). */
export const toldLevels = ['bad', 'waiting'] as const;

/** Somebody who is told when the headline changes. */
export interface NotifyEntry {
  /** No other entry has it. */
  readonly name: string;
  readonly kind: TargetKind;
  /** As the file has it: an address, `$NAME` for a variable of the environment, or a path. It may hold a secret. */
  readonly address: string;
  /** Signs the body of a webhook, or the token of ntfy; as the address. Null: none. */
  readonly secret: string | null;
  /** Of mail only. */
  readonly mail: { readonly from: string; readonly to: readonly string[] } | null;
  /** The body of a webhook, with names in braces; null: the document of docs/notify.md. */
  readonly template: string | null;
  /** Where the dashboard is, for people. */
  readonly link: string | null;
  readonly level: (typeof toldLevels)[number];
  /** How long a state holds before it is told. */
  readonly afterMs: number;
  /** Between two reminders; null: there are none. */
  readonly everyMs: number | null;
}

export interface WatchList {
  readonly markets: readonly MarketEntry[];
  readonly assets: readonly AssetEntry[];
  readonly assetLists: readonly AssetListEntry[];
  /** Poll interval per named list; null: no longer polled. */
  readonly lists: ReadonlyMap<WholeList, number | null>;
  /** Overrides the environment. */
  readonly reread: RereadOverride;
  /** Ids that stand for codes of sources; null: the file does not say. */
  readonly aliases: readonly Alias[] | null;
  /** Retention per named dataset; null: forever. */
  readonly retention: ReadonlyMap<StoredDataset, string | null>;
  /** Null: none. */
  readonly lake: LakeEntry | null;
  readonly notify: readonly NotifyEntry[];
  readonly prune: boolean;
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface Problem extends Place {
  readonly message: string;
}

/** `tidemark.yaml:12:5: from is missing`, a form that editors and terminals link. */
export function problemText(file: string, { line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${visible(message)}`;
}
