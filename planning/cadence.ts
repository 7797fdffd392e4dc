/** How often something is done, as people write it: `30s`, `5m`, `1h`, `1d`. */

import { dayMs, hourMs, minuteMs } from '../contract/intervals.ts';

const pattern = /^(\d{1,5})(s|m|min|h|d)$/;
const unitMs = { s: 1000, m: minuteMs, min: minuteMs, h: hourMs, d: dayMs } as const;

/** Shorter than a source changes anything, and its pages take their time. */
const shortestMs = 10_000;
/** A year. */
const longestMs = 366 * dayMs;

/** Milliseconds; null when the text is no length. */
export function lengthMs(text: string): number | null {
  const match = pattern.exec(text);
  return match === null ? null : Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}

/** Milliseconds; null when the text is no cadence from ten seconds to a year. */
export function cadenceMs(text: string): number | null {
  const ms = lengthMs(text);
  return ms !== null && ms >= shortestMs && ms <= longestMs ? ms : null;
}
