/** Calendar months in UTC, and the files of archives, which hold a month or a day. */

import { dayMs, type EpochMs, periodStart, type Range, weekMs } from './intervals.ts';
import { requestsFor } from './request-range.ts';
import type { ArchiveFiles } from './sources.ts';

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

/** Until when an archive has files at `nowMs`: the start of the month or day whose file is not there yet. */
export function archivedUpTo(nowMs: EpochMs, { unit, lagMs }: ArchiveFiles): EpochMs {
  const atMs = nowMs - lagMs;
  const { startMs } = fileAt(atMs, unit);
  // The file of a month comes with the first Monday of the next one.
  const isLate = unit === 'month' && atMs < periodStart(startMs + weekMs - 1, 'w1');
  return isLate ? fileAt(startMs - 1, unit).startMs : startMs;
}

function fileAt(timeMs: EpochMs, unit: ArchiveFiles['unit']): Range {
  if (unit === 'month') return monthAt(timeMs);
  const startMs = periodStart(timeMs, 'd1');
  return { startMs, endMs: startMs + dayMs };
}

/** Cuts a range where the files of an archive begin. */
export function* cutByFile({ startMs, endMs }: Range, { unit }: ArchiveFiles): Generator<Range> {
  let fromMs = startMs;
  while (fromMs < endMs) {
    const toMs = Math.min(endMs, fileAt(fromMs, unit).endMs);
    yield { startMs: fromMs, endMs: toMs };
    fromMs = toMs;
  }
}

/** Number of the files that a range touches. */
export function countFiles({ startMs, endMs }: Range, { unit }: ArchiveFiles): number {
  if (unit === 'day') return requestsFor({ startMs: periodStart(startMs, 'd1'), endMs }, dayMs);
  const [first, last] = [new Date(startMs), new Date(endMs - 1)];
  const months = last.getUTCMonth() - first.getUTCMonth() + 1;
  return 12 * (last.getUTCFullYear() - first.getUTCFullYear()) + months;
}
