/** An injected clock that several processes share: each receives its start and speed. */

import type { EpochMs } from '../../model/intervals.ts';

export interface ProcessClock {
  /** The time it shows at the start. */
  readonly nowMs: EpochMs;
  /** The start by the system's clock. */
  readonly startedAtMs: EpochMs;
  /** The speed relative to the system's clock. 0: it stands still. */
  readonly speed: number;
}

export function standingAt(nowMs: EpochMs): ProcessClock {
  return { nowMs, startedAtMs: 0, speed: 0 };
}

export function clockOf({ nowMs, startedAtMs, speed }: ProcessClock): () => EpochMs {
  return () => nowMs + Math.round((Date.now() - startedAtMs) * speed);
}
