/** What a benchmark gets, and what it gives. */

import type { BenchParts } from './parts.ts';

export interface BenchOptions {
  readonly parts: BenchParts;
  /** A short run to try the benchmark itself: its numbers mean little. */
  readonly isQuick: boolean;
  /** Tells how far it is. */
  readonly say: (line: string) => void;
}

export interface BenchResult {
  /** For people. */
  readonly text: string;
  /** For programs. */
  readonly result: object;
}
