/** The interface of a benchmark. */

import type { BenchParts } from './parts.ts';

export interface BenchOptions {
  readonly parts: BenchParts;
  /** A short run to test the benchmark itself. Its numbers mean little. */
  readonly isQuick: boolean;
  /** Reports progress. */
  readonly say: (line: string) => void;
}

export interface BenchResult {
  /** For readers. */
  readonly text: string;
  /** For programs. */
  readonly result: object;
}
