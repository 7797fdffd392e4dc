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
export function monthName({ startMs }: Pick<Range, 'startMs'>): string {
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
export function* cutByFile({ startMs, endMs }: Range, { unit }: Pick<ArchiveFiles, 'unit'>): Generator<Range> {
  let fromMs = startMs;
  while (fromMs < endMs) {
    const toMs = Math.min(endMs, fileAt(fromMs, unit).endMs);
    yield { startMs: fromMs, endMs: toMs };
    fromMs = toMs;
  }
}

/**
 * The windows of a range, by the files of an archive. Where what begins a unit may be in the file before it, a window
 * reaches that far into the next unit, and the range begins with a window of its own: {@link fileOf}.
 */
export function* windowsByFile(range: Range, files: ArchiveFiles): Generator<Range> {
  const { spillMs = 0 } = files;
  const { startMs, endMs } = range;
  if (spillsAt(startMs, files)) yield { startMs, endMs: Math.min(startMs + spillMs, endMs) };
  for (const piece of cutByFile(range, files)) {
    const isSpilt = spillsAt(piece.startMs, files) && endMs - piece.startMs <= spillMs;
    if (!isSpilt) yield { startMs: piece.startMs, endMs: Math.min(piece.endMs + spillMs, endMs) };
  }
}

/** The unit whose file has a window of {@link windowsByFile}. */
export function fileOf({ startMs, endMs }: Range, files: ArchiveFiles): Range {
  const isSpilt = spillsAt(startMs, files) && endMs - startMs <= (files.spillMs ?? 0);
  return fileAt(isSpilt ? startMs - 1 : startMs, files.unit);
}

function spillsAt(timeMs: EpochMs, { unit, spillMs = 0 }: ArchiveFiles): boolean {
  return spillMs > 0 && fileAt(timeMs, unit).startMs === timeMs;
}

/** Number of {@link windowsByFile}, which are not made for it. */
export function countFiles(range: Range, files: ArchiveFiles): number {
  const { startMs, endMs } = range;
  const { unit, spillMs = 0 } = files;
  const lastMs = fileAt(endMs - 1, unit).startMs;
  const isLastSpilt = spillsAt(lastMs, files) && lastMs >= startMs && endMs - lastMs <= spillMs;
  return countUnits(range, unit) + (spillsAt(startMs, files) ? 1 : 0) - (isLastSpilt ? 1 : 0);
}

/** Number of the files that a range touches. */
function countUnits({ startMs, endMs }: Range, unit: ArchiveFiles['unit']): number {
  if (unit === 'day') return requestsFor({ startMs: periodStart(startMs, 'd1'), endMs }, dayMs);
  const [first, last] = [new Date(startMs), new Date(endMs - 1)];
  const months = last.getUTCMonth() - first.getUTCMonth() + 1;
  return 12 * (last.getUTCFullYear() - first.getUTCFullYear()) + months;
}
