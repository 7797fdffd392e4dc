/**
 * Notices that something every attempt needs is away, and says how long to leave it alone.
 *
 * Well: an attempt succeeds. After `threshold` failures in a row it is away, which is said once. Every failure of
 * an attempt that began after the last pause doubles the pause, from one second to a minute; those that were
 * under way together count once. The first success of an attempt that began since ends it, which is said once too: an
 * answer that was on its way before tells nothing. A crash forgets it.
 */

import type { Logger } from 'pino';
import type { EpochMs } from '../contract/intervals.ts';

export interface OutageWatch {
  succeeded(success: { startedMs: EpochMs; nowMs: EpochMs }): void;
  /** @returns for how long no attempt should start, 0 when it is not away. */
  failed(failure: { startedMs: EpochMs; nowMs: EpochMs; message: string }): number;
  /** Whether it has been said to be away, and not yet to be back. */
  isAway(): boolean;
}

const firstPauseMs = 1000;
const longestPauseMs = 60_000;

/** @param what is away, for the log: `the source`. */
export function watchOutage(options: { what: string; threshold: number; log: Logger }): OutageWatch {
  let inARow = 0;
  let sinceMs: EpochMs | null = null;
  let pauseMs = 0;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  return Object.freeze({
    succeeded({ startedMs, nowMs }) {
      if (sinceMs !== null && startedMs < sinceMs) return;
      inARow = 0;
      pauseMs = 0;
      if (sinceMs === null) return;
      options.log.info({ awaySeconds: Math.round((nowMs - sinceMs) / 1000) }, `${options.what} is back`);
      sinceMs = null;
    },

    failed({ startedMs, nowMs, message }) {
      inARow += 1;
      if (inARow < options.threshold) return 0;
      if (sinceMs === null) {
        sinceMs = nowMs;
        options.log.warn({ cause: message }, `${options.what} is away; trying again from time to time`);
      }
      if (startedMs >= pausedUntilMs) {
        pauseMs = pauseMs === 0 ? firstPauseMs : Math.min(longestPauseMs, pauseMs * 2);
        pausedUntilMs = nowMs + pauseMs;
      }
      return Math.max(0, pausedUntilMs - nowMs);
    },

    isAway: () => sinceMs !== null,
  } satisfies OutageWatch);
}
