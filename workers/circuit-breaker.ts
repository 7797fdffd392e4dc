/**
 * A circuit breaker for the source and the database: it notices an outage, and states how long to pause.
 *
 *   closed      Attempts succeed. `threshold` failures in a row open it, which is logged once.
 *   open        After each pause one attempt begins. It doubles the pause, from one to ten seconds, as does a failure
 *               of an attempt that began after the last pause. Attempts that were active together count once. A success
 *               of an attempt that began after it opened makes it half-open; an answer already on its way proves
 *               nothing.
 *   half-open   Nothing is paused. `threshold` failures in a row open it again without a log line: a disk that is full
 *               most of the time accepts a write now and then. A success ten seconds after the first closes it, which
 *               is logged once.
 *
 * The state is not stored: a restart closes it.
 */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { EpochMs } from '../model/intervals.ts';
import { longestPauseMs } from '../planning/source-outage.ts';

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

const firstMs = 1000;
/** Half-open for so long without an outage, it closes. */
const recoveryMs = 10_000;

/**
 * @param options.what names the part for the log: `the source`.
 */
export function createCircuitBreaker(options: { what: string; threshold: number; log: Logger }) {
  let failuresInARow = 0;
  let sinceMs: EpochMs | null = null;
  let recoveringSinceMs: EpochMs | null = null;
  let lastRecoveryMs: EpochMs = Number.NEGATIVE_INFINITY;
  let pauseMs = 0;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** When the last pause of an attempt was set, by the monotonic clock; infinite while it is being set. */
  let enteredMs = Number.NEGATIVE_INFINITY;
  let isSilent = true;

  function closeIfRecovered(nowMs: EpochMs): void {
    if (sinceMs === null || recoveringSinceMs === null || nowMs - recoveringSinceMs < recoveryMs) return;
    const outageSeconds = Math.round((recoveringSinceMs - sinceMs) / 1000);
    options.log.info({ outageSeconds }, `${options.what} ${isSilent ? 'is reachable' : 'answers'} again`);
    lastRecoveryMs = recoveringSinceMs;
    sinceMs = null;
    recoveringSinceMs = null;
    pauseMs = 0;
  }

  function lengthenPause(nowMs: EpochMs): void {
    pauseMs = pauseMs === 0 ? firstMs : Math.min(longestPauseMs, pauseMs * 2);
    pausedUntilMs = nowMs + pauseMs;
  }

  return Object.freeze({
    /**
     * Before an attempt: while it is open, one begins after each pause.
     *
     * @param claimedMs when its job was claimed, by the monotonic clock.
     * @param pause lets no other attempt start for as long.
     * @returns false when the job was claimed before a pause, and has to wait.
     */
    async enter(claimedMs: number, clock: Clock, pause: (ms: number) => Promise<void>): Promise<boolean> {
      if (sinceMs === null || recoveringSinceMs !== null) return true;
      if (claimedMs < enteredMs) return false;
      enteredMs = Number.POSITIVE_INFINITY;
      lengthenPause(clock.now());
      await pause(pauseMs);
      enteredMs = clock.monotonicMs();
      return true;
    },

    /** @param startedMs when the attempt began; absent: just now. @returns whether it ends the pauses. */
    succeeded(nowMs: EpochMs, startedMs = nowMs): boolean {
      if (sinceMs !== null && startedMs < sinceMs) return false;
      failuresInARow = 0;
      if (sinceMs === null) return false;
      const isFirst = recoveringSinceMs === null;
      recoveringSinceMs ??= nowMs;
      closeIfRecovered(nowMs);
      return isFirst;
    },

    /** @returns milliseconds during which no attempt should start; 0 when closed. */
    failed(failure: {
      readonly startedMs: EpochMs;
      readonly nowMs: EpochMs;
      readonly message: string;
      /** Whether an answer came, which cannot be used. */
      readonly isAnswered?: boolean;
    }): number {
      const { startedMs, nowMs, message, isAnswered = false } = failure;
      failuresInARow += 1;
      if (failuresInARow < options.threshold) return 0;
      closeIfRecovered(nowMs);
      recoveringSinceMs = null;
      if (sinceMs === null) {
        sinceMs = nowMs;
        isSilent = !isAnswered;
        const state = isSilent ? 'is unreachable' : 'is answering unusably';
        options.log.warn({ cause: message }, `${options.what} ${state}; retrying`);
      }
      if (startedMs >= pausedUntilMs) lengthenPause(nowMs);
      return Math.max(0, pausedUntilMs - nowMs);
    },

    /** Whether it is open or half-open: its outage is logged, its end is not. */
    isOpen: () => sinceMs !== null,

    /** Whether an attempt that began then failed because of an outage that is logged, which may be over by now. */
    explains: (startedMs: EpochMs) => sinceMs !== null || startedMs <= lastRecoveryMs,
  });
}
