/** Values of PostgreSQL as text: of parameters, and of what is read. */

import pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';

// Types of query results: NUMERIC stays text (node-postgres' default), timestamps and counts become numbers.
export const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTimestamp);

/** A parameter for `timestamptz`. */
export function timestamp(timeMs: EpochMs): string {
  return new Date(timeMs).toISOString();
}

/**
 * Formats timestamps that are close together: formatting a date costs more than the rest of preparing a point. Without
 * fractions of a second, PostgreSQL reads them in less time.
 */
function timestampFormat(): (timeMs: EpochMs) => string {
  let hourMs = Number.NaN;
  let hour = '';
  return (timeMs) => {
    if (!(timeMs >= hourMs && timeMs < hourMs + 3_600_000)) {
      hourMs = Math.floor(timeMs / 3_600_000) * 3_600_000;
      hour = timestamp(hourMs)
        .replace('T', ' ')
        .replace(/00:00\.000Z$/, '');
    }
    const minute = minuteTexts[(timeMs - hourMs) / 60_000];
    return minute === undefined ? timestamp(timeMs) : hour + minute;
  };
}

const minuteTexts = Array.from({ length: 60 }, (_, minute) => `${String(minute).padStart(2, '0')}:00+00`);

export function timestamps(timesMs: readonly EpochMs[]): string[] {
  return timesMs.map(timestampFormat());
}

/** A parameter for `tstzrange`, half-open; null leaves the end open. */
export function timeRange(startMs: EpochMs, endMs: EpochMs | null): string {
  return `[${timestamp(startMs)},${endMs === null ? '' : timestamp(endMs)})`;
}

/** A parameter for `tstzmultirange`. */
export function timeRanges(ranges: ReadonlyArray<{ startMs: EpochMs; endMs: EpochMs }>): string {
  return `{${ranges.map(({ startMs, endMs }) => timeRange(startMs, endMs)).join(',')}}`;
}

/** A parameter for an array whose elements need no quoting: decimals, timestamps and integers. */
export function arrayOf(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}

/** Parses PostgreSQL's ISO output in UTC, such as `2021-01-01 00:00:00.5+00`. Infinity has no milliseconds. */
export function parseTimestamp(text: string): EpochMs {
  const timeMs = Date.parse(text.endsWith('+00') ? `${text.slice(0, 10)}T${text.slice(11, -3)}Z` : text);
  if (Number.isNaN(timeMs)) throw new RangeError(`not a finite time: ${text}`);
  return timeMs;
}
