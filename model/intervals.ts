/**
 * The intervals of the interface, their lengths, and the grid their periods lie on.
 *
 * Source: interface specification, section 4 (`/candles`, `/assets/{id}/history`).
 */

/** A time in integer milliseconds since the UNIX epoch, UTC. */
export type EpochMs = number;

/** Half-open: `[startMs, endMs)`. */
export interface Range {
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
}

/** The largest time of a JavaScript `Date`: 13 September 275760. */
export const latestMs: EpochMs = 8_640_000_000_000_000;

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
export const weekMs = 7 * dayMs;

/** How long after its end a period may still change at the source: coverage waits for it. */
export const graceMs = minuteMs;

/** Length of one period, milliseconds. */
export const intervalMs = Object.freeze({
  m1: minuteMs,
  m5: 5 * minuteMs,
  m15: 15 * minuteMs,
  m30: 30 * minuteMs,
  h1: hourMs,
  h2: 2 * hourMs,
  h4: 4 * hourMs,
  h6: 6 * hourMs,
  h8: 8 * hourMs,
  h12: 12 * hourMs,
  d1: dayMs,
  w1: weekMs,
});

export type Interval = keyof typeof intervalMs;

/**
 * Every period starts a whole number of interval lengths from here: Monday 2000-01-03 00:00 UTC. For intervals up to a
 * day any UTC midnight would do. The interface does not specify the week; Monday is ISO 8601's start of the week, which
 * exchanges use for weekly candles.
 */
export const gridOriginMs: EpochMs = Date.UTC(2000, 0, 3);

/** Start of the period that contains `timeMs`. */
export function periodStart(timeMs: EpochMs, interval: Interval): EpochMs {
  const length = intervalMs[interval];
  return gridOriginMs + Math.floor((timeMs - gridOriginMs) / length) * length;
}

/** Start of the first period that begins at `timeMs` or later. */
export function nextPeriodStart(timeMs: EpochMs, interval: Interval): EpochMs {
  return periodStart(timeMs + intervalMs[interval] - 1, interval);
}

/** Whether a period starts exactly at `timeMs`. */
export function isOnGrid(timeMs: EpochMs, interval: Interval): boolean {
  return (timeMs - gridOriginMs) % intervalMs[interval] === 0;
}
