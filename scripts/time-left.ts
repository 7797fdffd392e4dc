/** What is said of the time that something still takes. */

import { duration } from './wording.ts';

/** Shorter pauses are the limiter's own spacing. */
const longPauseMs = 2000;

/** Whether the queue waits for the source. */
export function isHeldOff(pausedMs: number): boolean {
  return pausedMs > longPauseMs;
}

/** `waiting 5 min for the source`, or null when it does not. */
export function waitText(pausedMs: number): string | null {
  return isHeldOff(pausedMs) ? `waiting ${duration(pausedMs)} for the source` : null;
}

/** @param ms null: not known. */
export function etaText(ms: number | null): string {
  return `ETA ${ms === null ? '-' : duration(Math.max(1000, ms))}`;
}
