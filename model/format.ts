/** Formats times, durations, counts and shares. */

import { dayMs, type EpochMs, hourMs, minuteMs } from './intervals.ts';

/** `2024-01-31 06:00:00Z`; without a time at midnight: `2024-01-31`. */
export function formatTime(timeMs: EpochMs): string {
  const text = new Date(timeMs).toISOString();
  if (timeMs % dayMs === 0) return text.slice(0, 10);
  return `${text.slice(0, timeMs % minuteMs === 0 ? 16 : 19).replace('T', ' ')}Z`;
}

/** Without its fraction, of a time in a sentence: one rounding, or two places tell of two times. */
export function wholeSecond(timeMs: EpochMs): EpochMs {
  return Math.floor(timeMs / 1000) * 1000;
}

/** ISO 8601, for JSON. */
export function isoTime(timeMs: EpochMs): string;
export function isoTime(timeMs: EpochMs | null): string | null;
export function isoTime(timeMs: EpochMs | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString();
}

/** `from 2024-01-31 to 2024-02-01`, or `from 2024-01-31 onward`. */
export function formatSpan({ startMs, endMs }: { startMs: EpochMs; endMs: EpochMs | null }): string {
  return `from ${formatTime(startMs)} ${endMs === null ? 'onward' : `to ${formatTime(endMs)}`}`;
}

const timeUnits = [
  [365 * dayMs, 'y'],
  [dayMs, 'd'],
  [hourMs, 'h'],
  [minuteMs, 'min'],
  [1000, 's'],
] as const;

/** The largest units: `3 d 4 h`, `12 min`, `8 s`. @param most how many of them. */
export function formatDuration(ms: number, most = 2): string {
  const first = timeUnits.findIndex(([length]) => ms >= length);
  if (first === -1) return `${Math.round(ms)} ms`;
  const parts: string[] = [];
  let rest = ms;
  for (const [length, unit] of timeUnits.slice(first, first + most)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.join(' ');
}

/** An estimate is rounded to these steps, by its length. */
const estimateSteps = [
  [10_000, 1000],
  [minuteMs, 10_000],
  [15 * minuteMs, minuteMs],
  [hourMs, 5 * minuteMs],
  [2 * hourMs, 15 * minuteMs],
  [6 * hourMs, 30 * minuteMs],
  [dayMs, hourMs],
  [4 * dayMs, 12 * hourMs],
  [Number.POSITIVE_INFINITY, dayMs],
] as const;

/** An estimate is no surer than a tenth of itself. */
export function roundedDuration(ms: number): number {
  const [, step] = estimateSteps.find(([below]) => ms < below) ?? [0, dayMs];
  return Math.max(step, Math.round(ms / step) * step);
}

/** `about 15 min`, `about 3 h`: an estimated time. */
export function aboutText(ms: number): string {
  return `about ${formatDuration(roundedDuration(ms))}`;
}

export function formatCount(value: number): string {
  return value.toLocaleString('en-US');
}

/** The texts of a list in which those that do not apply are empty. */
export function nonEmpty(texts: readonly string[]): string[] {
  return texts.filter((text) => text !== '');
}

/** A command to copy: words of a user or a source stay what they are in a POSIX shell. */
export function shellCommand(...words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** `1 window`, `2 windows`. */
export function counted(value: number, thing: string): string {
  return `${formatCount(value)} ${thing}${value === 1 ? '' : 's'}`;
}

/** `512 B`, `1.4 MB`: powers of a thousand. */
export function formatBytes(value: number): string {
  const sizes = ['B', 'kB', 'MB', 'GB', 'TB'];
  let left = value;
  let unit = 0;
  while (left >= 999.5 && unit < sizes.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${left.toFixed(unit > 0 && left < 9.95 ? 1 : 0)} ${sizes[unit]}`;
}

/** A share in percent, rounded down: 100 only when it is complete. */
export function formatPercent(part: number, whole: number): string {
  if (whole <= 0 || part >= whole) return '100 %';
  return `${(Math.floor((part / whole) * 10_000) / 100).toFixed(2)} %`;
}

/** Use of the budget. @param perMinute 0: no limit. */
export function budgetText({ lastMinute, perMinute }: { lastMinute: number; perMinute: number }): string {
  return perMinute === 0
    ? `${counted(lastMinute, 'request')} in the last minute, no limit`
    : `${formatCount(lastMinute)} of ${formatCount(perMinute)} requests in the last minute`;
}

/** `12 timeout, 3 server error`: counts by kind, largest first. */
export function kindsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, amount]) => amount > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, amount]) => `${formatCount(amount)} ${kind.replaceAll('_', ' ')}`)
    .join(', ');
}
