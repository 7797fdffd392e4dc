/** The result that the process of planning passes sends. Times are in milliseconds, one for each run. */

export interface Memory {
  readonly heapBytes: number;
  readonly rssBytes: number;
}

export interface Measured {
  /** Ranges that a pass reads from the database. */
  readonly gapsRead: number;
  /** Whole passes with a full queue. */
  readonly fullQueue: readonly number[];
  /** Whole passes with room for a second of budget. */
  readonly topUp: readonly number[];
  /** Parts of a pass. */
  readonly readingQueue: readonly number[];
  readonly readingGaps: readonly number[];
  readonly readingLedger: readonly number[];
  /** The pure part, for an empty queue: the largest amount of work. */
  readonly planWindows: readonly number[];
  /** The maximum number of windows in the queue after a pass. */
  readonly longestQueue: number;
  /** After a garbage collection: connected but before the first pass, and after the last. */
  readonly before: Memory;
  readonly after: Memory;
  readonly peakRssBytes: number;
}
