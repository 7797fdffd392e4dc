/**
 * Notices that something every attempt needs is away, and says how long to leave it alone.
 *
 *   well        An attempt succeeds. After `threshold` failures in a row it is *away*, which is said once.
 *   away        Every failure of an attempt that began after the last pause doubles the pause, from one second to a
 *               minute unless given; those that were under way together count once. A success of an attempt that
 *               began since makes it *recovering*: an answer that was on its way before tells nothing.
 *   recovering  Nothing is paused. As many failures in a row as before, and it is away as it was: a disk that is full
 *               now and then has room for a little, and a log that says so each time says nothing. A success some
 *               seconds after the first makes it *well*, which is said once too.
 *
 * A crash forgets it.
 */

import type { Logger } from 'pino';
import type { EpochMs } from '../contract/intervals.ts';

export interface OutageWatch {
  /** @param startedMs when the attempt began; absent: just now. */
  succeeded(nowMs: EpochMs, startedMs?: EpochMs): void;
  /** @returns for how long no attempt should start, 0 when it is not away. */
  failed(failure: { startedMs: EpochMs; nowMs: EpochMs; message: string }): number;
  /** Whether it is away or recovering: said to be away, and not yet to be back. */
  isAway(): boolean;
}

const outagePauses = Object.freeze({ firstMs: 1000, longestMs: 60_000 });
/** Who says in words that there is no data will say so for a while. */
export const noticePauses = Object.freeze({ firstMs: 60_000, longestMs: 3_600_000 });
/** From the first success on, this long without an outage is well. */
const recoveryMs = 10_000;

/**
 * @param options.what is away, for the log: `the source`.
 * @param options.pauses the first and the longest.
 * @param options.said replaces what the log says when it begins and ends.
 */
export function watchOutage(options: {
  what: string;
  threshold: number;
  log: Logger;
  pauses?: { readonly firstMs: number; readonly longestMs: number };
  said?: { readonly begins: string; readonly ends: string };
}): OutageWatch {
  const { firstMs, longestMs } = options.pauses ?? outagePauses;
  const said = options.said ?? {
    begins: `${options.what} is away; trying again from time to time`,
    ends: `${options.what} is back`,
  };
  let inARow = 0;
  let sinceMs: EpochMs | null = null;
  let recoveringSinceMs: EpochMs | null = null;
  let pauseMs = 0;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  function settleIfRecovered(nowMs: EpochMs): void {
    if (sinceMs === null || recoveringSinceMs === null || nowMs - recoveringSinceMs < recoveryMs) return;
    const awaySeconds = Math.round((recoveringSinceMs - sinceMs) / 1000);
    options.log.info({ awaySeconds }, said.ends);
    sinceMs = null;
    recoveringSinceMs = null;
    pauseMs = 0;
  }

  return Object.freeze({
    succeeded(nowMs, startedMs = nowMs) {
      if (sinceMs !== null && startedMs < sinceMs) return;
      inARow = 0;
      if (sinceMs === null) return;
      recoveringSinceMs ??= nowMs;
      settleIfRecovered(nowMs);
    },

    failed({ startedMs, nowMs, message }) {
      inARow += 1;
      if (inARow < options.threshold) return 0;
      settleIfRecovered(nowMs);
      recoveringSinceMs = null;
      if (sinceMs === null) {
        sinceMs = nowMs;
        options.log.warn({ cause: message }, said.begins);
      }
      if (startedMs >= pausedUntilMs) {
        pauseMs = pauseMs === 0 ? firstMs : Math.min(longestMs, pauseMs * 2);
        pausedUntilMs = nowMs + pauseMs;
      }
      return Math.max(0, pausedUntilMs - nowMs);
    },

    isAway: () => sinceMs !== null,
  } satisfies OutageWatch);
}
