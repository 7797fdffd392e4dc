/**
 * A circuit breaker for the source and the database: it notices an outage, and states how long to pause.
 *
 *   closed      Attempts succeed. `threshold` failures in a row open it, which is logged once.
 *   open        Each failure of an attempt that began after the last pause doubles the pause, from one second to one
 *               minute unless configured. Attempts that were active together count once. A success of an attempt
 *               that began after it opened makes it half-open; an answer already on its way proves nothing.
 *   half-open   Nothing is paused. `threshold` failures in a row open it again without a log line: a disk that is full
 *               most of the time accepts a write now and then. A success ten seconds after the first closes it, which
 *               is logged once.
 *
 * The state is not stored: a restart closes it.
 */

import type { Logger } from 'pino';
import type { EpochMs } from '../contract/intervals.ts';

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

const defaultPauses = Object.freeze({ firstMs: 1000, longestMs: 60_000 });
/** A source that answers with a service message does so for a while. */
export const serviceMessagePauses = Object.freeze({ firstMs: 60_000, longestMs: 3_600_000 });
/** Half-open for so long without an outage, it closes. */
const recoveryMs = 10_000;

/**
 * @param options.what names the part for the log: `the source`.
 * @param options.pauses the first and the longest.
 * @param options.messages replaces the log messages of its begin and end.
 */
export function createCircuitBreaker(options: {
  what: string;
  threshold: number;
  log: Logger;
  pauses?: { readonly firstMs: number; readonly longestMs: number };
  messages?: { readonly begins: string; readonly ends: string };
}) {
  const { firstMs, longestMs } = options.pauses ?? defaultPauses;
  const messages = options.messages ?? {
    begins: `${options.what} is unreachable; retrying`,
    ends: `${options.what} is reachable again`,
  };
  let failuresInARow = 0;
  let sinceMs: EpochMs | null = null;
  let recoveringSinceMs: EpochMs | null = null;
  let lastRecoveryMs: EpochMs = Number.NEGATIVE_INFINITY;
  let pauseMs = 0;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  function closeIfRecovered(nowMs: EpochMs): void {
    if (sinceMs === null || recoveringSinceMs === null || nowMs - recoveringSinceMs < recoveryMs) return;
    const outageSeconds = Math.round((recoveringSinceMs - sinceMs) / 1000);
    options.log.info({ outageSeconds }, messages.ends);
    lastRecoveryMs = recoveringSinceMs;
    sinceMs = null;
    recoveringSinceMs = null;
    pauseMs = 0;
  }

  return Object.freeze({
    /** @param startedMs when the attempt began; absent: just now. */
    succeeded(nowMs: EpochMs, startedMs = nowMs) {
      if (sinceMs !== null && startedMs < sinceMs) return;
      failuresInARow = 0;
      if (sinceMs === null) return;
      recoveringSinceMs ??= nowMs;
      closeIfRecovered(nowMs);
    },

    /** @returns milliseconds during which no attempt should start; 0 when closed. */
    failed({ startedMs, nowMs, message }: { startedMs: EpochMs; nowMs: EpochMs; message: string }): number {
      failuresInARow += 1;
      if (failuresInARow < options.threshold) return 0;
      closeIfRecovered(nowMs);
      recoveringSinceMs = null;
      if (sinceMs === null) {
        sinceMs = nowMs;
        options.log.warn({ cause: message }, messages.begins);
      }
      if (startedMs >= pausedUntilMs) {
        pauseMs = pauseMs === 0 ? firstMs : Math.min(longestMs, pauseMs * 2);
        pausedUntilMs = nowMs + pauseMs;
      }
      return Math.max(0, pausedUntilMs - nowMs);
    },

    /** Whether it is open or half-open: its outage is logged, its end is not. */
    isOpen: () => sinceMs !== null,

    /** Whether an attempt that began then failed because of an outage that is logged, which may be over by now. */
    explains: (startedMs: EpochMs) => sinceMs !== null || startedMs <= lastRecoveryMs,
  });
}
