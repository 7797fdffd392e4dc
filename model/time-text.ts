/** Times, ages and intervals as text. */

import type { Dataset } from './dataset.ts';
import { dayMs, type EpochMs, hourMs, type Interval, intervalMs, minuteMs, weekMs } from './intervals.ts';

/** An interval: `30s`, `5m`, `1h`, `1d`. */
const intervalPattern = /^(\d{1,5})(s|m|min|h|d)$/;
const unitMs = { s: 1000, m: minuteMs, min: minuteMs, h: hourMs, d: dayMs } as const;

/** Sources change nothing faster, and the pages of a poll take time. */
const shortestMs = 10_000;
/** A year. */
const longestMs = 366 * dayMs;

/** Milliseconds; null: not a valid length. */
export function parseDuration(text: string): number | null {
  const match = intervalPattern.exec(text);
  return match === null ? null : Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}

/** Milliseconds; null: not an interval from ten seconds to a year. */
export function parseInterval(text: string): number | null {
  const ms = parseDuration(text);
  return ms !== null && ms >= shortestMs && ms <= longestMs ? ms : null;
}

/** `1m`, `60min`, `24H`. A capital M is a month. */
const otherNotation = /^(\d{1,5}) ?(m|min|[hHdDwW])$/;
const notedMs: Readonly<Record<string, number>> = { ...unitMs, w: weekMs };

/** `"1m" is no interval of candles; did you mean m1?` */
export function wrongInterval(text: string, { word, intervals }: Pick<Dataset, 'word' | 'intervals'>): string {
  const meant = intervalMeant(text, intervals);
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
  const advice = meant === null ? `, only ${intervals.join(', ')}` : `; did you mean ${meant}?`;
  return `${shown} is no interval of ${word}${advice}`;
}

function intervalMeant(text: string, known: readonly Interval[]): Interval | null {
  const [, count, unit = ''] = otherNotation.exec(text) ?? [];
  const lengthMs = Number(count) * (notedMs[unit.toLowerCase()] ?? Number.NaN);
  return known.find((name) => intervalMs[name] === lengthMs || name === text.toLowerCase()) ?? null;
}

/** A date or time, of UTC without an offset: `2024-01-31`, `2024-01-31T06:00`, `2024-01-31 06:00:00+02`. */
const isoPattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(?:Z|([+-])(\d{2})(?::?(\d{2}))?)?)?$/;
/** Milliseconds since 1970, from September 2001 on. */
const epochPattern = /^\d{13}$/;

/** Milliseconds; null: invalid, such as a 31st of February, or before 1970. */
export function parseIsoTime(text: string): EpochMs | null {
  if (epochPattern.test(text)) return Number(text);
  const parts = isoPattern.exec(text);
  if (parts === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const fraction = Number((parts[7] ?? '0').padEnd(3, '0'));
  const timeMs = Date.UTC(year, month - 1, day, hour, minute, second, fraction);
  const back = new Date(timeMs);
  // Date.UTC reads a 31st of February as a 2nd or 3rd of March.
  const exact =
    back.getUTCMonth() === month - 1 && back.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  const [offsetHours = 0, offsetMinutes = 0] = parts.slice(9, 11).map((part) => Number(part ?? 0));
  const offsetMs = (parts[8] === '-' ? -1 : 1) * (offsetHours * hourMs + offsetMinutes * minuteMs);
  const isOffset = offsetHours < 24 && offsetMinutes < 60;
  return exact && isOffset && timeMs - offsetMs >= 0 ? timeMs - offsetMs : null;
}

/**
 * As {@link parseIsoTime}, of a date as other programs write it: with a fraction of zeros, or `UTC` behind it. There
 * the first instant of 1970 stands for no date.
 */
export function parseWrittenTime(text: string): EpochMs | null {
  const iso = text.replace(/\.0+(?=\D|$)/, '').replace(/ ?UTC$/, 'Z');
  return (iso.includes('-') && parseIsoTime(iso)) || null;
}

/** An age: `30min`, `6h`, `90d`, `8w`, `11y`. */
const agePattern = /^(\d{1,5})(min|h|d|w|y)$/;
const ageUnitMs = { min: minuteMs, h: hourMs, d: dayMs, w: weekMs } as const;

/** Whether the text is an age. */
export function isAge(text: string): boolean {
  return agePattern.test(text);
}

/** Among ages: they are only remembered, for a file that names the series again. */
export const notNamedMark = 'not_named';

/**
 * The time that lies the age before `nowMs`, UTC, by calendar years. May be before 1970.
 *
 * @throws RangeError if the text is not an age.
 */
export function timeOfAge(text: string, nowMs: EpochMs): EpochMs {
  const age = agePattern.exec(text);
  if (age === null) throw new RangeError(`not an age: ${text}`);
  const count = Number(age[1]);
  const unit = age[2] as keyof typeof ageUnitMs | 'y';
  return unit === 'y' ? yearsBefore(nowMs, count) : nowMs - count * ageUnitMs[unit];
}

/** By the calendar of UTC. */
export function yearsBefore(nowMs: EpochMs, years: number): EpochMs {
  const date = new Date(nowMs);
  return date.setUTCFullYear(date.getUTCFullYear() - years);
}
