/** Calendar months in UTC. */

import type { EpochMs, Range } from '../contract/intervals.ts';

/** The month that holds `timeMs`. */
export function monthAt(timeMs: EpochMs): Range {
  const date = new Date(timeMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
}

/** `2024-01`. */
export function monthName({ startMs }: Range): string {
  return new Date(startMs).toISOString().slice(0, 7);
}

/** @param name as {@link monthName} writes it. */
export function monthNamed(name: string): Range {
  return monthAt(Date.parse(`${name}-01T00:00:00Z`));
}

/** The part of the ranges in each month that they touch, by its name, ascending. @param ranges sorted and disjoint. */
export function byMonth(ranges: readonly Range[]): Map<string, Range[]> {
  const parts = new Map<string, Range[]>();
  for (const range of ranges) {
    for (let startMs = range.startMs; startMs < range.endMs; ) {
      const month = monthAt(startMs);
      const part = { startMs, endMs: Math.min(range.endMs, month.endMs) };
      const name = monthName(month);
      const known = parts.get(name);
      if (known === undefined) parts.set(name, [part]);
      else known.push(part);
      startMs = part.endMs;
    }
  }
  return parts;
}
