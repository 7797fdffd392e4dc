/** What the process of planning passes sends when it is done. Times are milliseconds, one a run. */

export interface Memory {
  readonly heapBytes: number;
  readonly rssBytes: number;
}

export interface Measured {
  /** Ranges that a pass reads from the database. */
  readonly gapsRead: number;
  /** Whole passes that find the queue full. */
  readonly fullQueue: readonly number[];
  /** Whole passes that find a second's budget of room. */
  readonly topUp: readonly number[];
  /** Parts of a pass. */
  readonly readingQueue: readonly number[];
  readonly readingGaps: readonly number[];
  readonly readingLedger: readonly number[];
  /** The pure part, for an empty queue: the most that it ever has to do. */
  readonly planWindows: readonly number[];
  /** Most windows in the queue after a pass. */
  readonly longestQueue: number;
  /** After a garbage collection: connected but before the first pass, and after the last. */
  readonly before: Memory;
  readonly after: Memory;
  readonly peakRssBytes: number;
}
