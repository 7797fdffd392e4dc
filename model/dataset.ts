/**
 * What a dataset of points is. Each dataset is one descriptor in `model/datasets/`, from which statements, files,
 * documents and commands derive what they need. Its table is created by a migration; `test/model/datasets.test.ts`
 * compares both.
 */

import type { Interval } from './intervals.ts';
import type { MarketKind } from './market.ts';

export type Rollup = 'first' | 'max' | 'min' | 'last' | 'sum';

/** A value of each point: an exact decimal, or none. */
export interface Column {
  /** In SQL, files and the lake. */
  readonly name: string;
  /** In the interface, documents and the page. */
  readonly json: string;
  /** What it is: the comment in SQL. */
  readonly about: string;
  /** The value of a longer candle, of those of its candles; absent: the dataset has no rollups. */
  readonly rollup?: Rollup;
  /** A source may lack it. Absent: each point has it. */
  readonly isOptional?: true;
  /** A smaller value is impossible; absent: none is. */
  readonly least?: '0';
  /** Of an optional one: it is never zero, and one that a source sends stands for none. */
  readonly isZeroUnknown?: true;
}

/** What no point has, of two of its columns: `high is below low`. */
type Impossible = readonly [column: string, is: 'below' | 'above', other: string];

/** Which times have a point, from which follows what an answer proves (planning/proof.ts). */
export type TimeRule =
  /** A period may have none. `hasOpen`: whether the source has a point of the open period. */
  | { readonly density: 'some'; readonly hasOpen: (interval: Interval) => boolean }
  /** Each period has one, once it has closed. */
  | { readonly density: 'every' }
  /**
   * Events: each tells in a column how long ago the one before it was. `reachMs` is how far beside a window one is
   * asked for, to prove the silence up to it. The time between two is from the interval of the series to `longestMs`.
   * Events happen at the start of a period or up to `latestMs` after it: their time is that start, and
   * `delay` is the column of the rest, milliseconds.
   */
  | {
      readonly density: 'linked';
      readonly link: { readonly column: string; readonly unitMs: number };
      readonly reachMs: number;
      readonly longestMs: number;
      readonly latestMs: number;
      readonly delay: string;
    };

/** A view or function, with its comment and an example there. */
export interface Published {
  readonly name: string;
  readonly about: string;
  readonly example: string;
}

export interface Dataset {
  readonly name: string;
  /** On the command line and in the watch list. */
  readonly word: string;
  /** What its points are, in help. */
  readonly about: string;
  /** What a series is of: its key has these names. */
  readonly of: 'market' | 'asset';
  /** Kinds of markets that have it; none: it is of assets. */
  readonly kinds: readonly MarketKind[];
  /** Whether that key alone is the name of a series. Names of series of any other dataset end with its word. */
  readonly isNamedByKey: boolean;
  readonly table: string;
  readonly intervals: readonly Interval[];
  readonly columns: readonly [Column, ...Column[]];
  readonly impossible: readonly Impossible[];
  /** Whether a row of zeros stands for a value that the source does not know. */
  readonly areZerosUnknown: boolean;
  /** Whether the time of each point starts a period. */
  readonly isOnGrid: boolean;
  /** The time of a point in JSON. */
  readonly timeField: string;
  /** The value that stands for a point where one is shown. */
  readonly shown: string;
  /**
   * Bars: each from zero to the value of an event; a longer period has their sum, and the rate of a year.
   */
  readonly chart: 'candles' | 'line' | 'bars';
  /**
   * How a longer interval follows from the points of a shorter one: candles are rolled up, and those of hours and days
   * stored (docs/rollups.md); prices are sampled; null: it does not.
   */
  readonly longer: 'rolled up' | 'sampled' | null;
  readonly time: TimeRule;
  /** In SQL: every point, the newest one of each series, and points as they were known at a time. */
  readonly published: Readonly<Record<'all' | 'latest' | 'knownAt', Published>>;
  /** Days in a new chunk. */
  readonly chunkDays: number;
  /** Bytes of a typical point with its indexes, measured as docs/storage.md says. */
  readonly typicalBytes: { readonly columnstore: number; readonly row: number };
}
