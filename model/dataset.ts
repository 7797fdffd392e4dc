/**
 * What a dataset of points is. Each dataset is one descriptor in `model/datasets/`, from which statements, files, documents
 * and commands derive what they need. Its table is created by a migration; `test/model/datasets.test.ts` compares both.
 */

import type { Interval } from './intervals.ts';

/** A value of each point: an exact decimal, or none. */
export interface Column {
  /** In SQL, files and the lake. */
  readonly name: string;
  /** In the interface, documents and the page. */
  readonly json: string;
  /** A source may lack it. Absent: each point has it. */
  readonly isOptional?: true;
  /** A smaller value is impossible; absent: none is. */
  readonly least?: '0';
}

/** What no point has, of two of its columns: `high is below low`. */
export type Impossible = readonly [column: string, is: 'below' | 'above', other: string];

export interface Dataset {
  readonly name: string;
  /** On the command line and in the watch list. */
  readonly word: string;
  /** What its points are, in help. */
  readonly about: string;
  /** What a series is of: its key has these names. */
  readonly of: 'market' | 'asset';
  readonly table: string;
  readonly intervals: readonly Interval[];
  readonly columns: readonly [Column, ...Column[]];
  readonly impossible: readonly Impossible[];
  /** Whether the time of each point starts a period. */
  readonly isOnGrid: boolean;
  /** The time of a point in JSON. */
  readonly timeField: string;
  /** The value that stands for a point where one is shown. */
  readonly shown: string;
  readonly chart: 'candles' | 'line';
  /** Longer candles are stored of shorter ones, with their own points (docs/rollups.md). */
  readonly hasRollups: boolean;
  /** Whether the source has a point of the open period. */
  readonly hasOpen: (interval: Interval) => boolean;
  /** Days in a new chunk. */
  readonly chunkDays: number;
}
