/** An injected clock that several processes can share: they are told how it goes. */

import type { EpochMs } from '../../contract/intervals.ts';

export interface ProcessClock {
  /** What it showed at the start. */
  readonly nowMs: EpochMs;
  /** When that was, by the system's clock. */
  readonly startedAtMs: EpochMs;
  /** How much faster than the system's it goes; 0: it stands still. */
  readonly speed: number;
}

export function standingAt(nowMs: EpochMs): ProcessClock {
  return { nowMs, startedAtMs: 0, speed: 0 };
}

export function clockOf({ nowMs, startedAtMs, speed }: ProcessClock): () => EpochMs {
  return () => nowMs + Math.round((Date.now() - startedAtMs) * speed);
}
