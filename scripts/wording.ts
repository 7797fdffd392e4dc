/** How times, durations and shares are written for people. */

import { dayMs, type EpochMs, hourMs, minuteMs } from '../contract/intervals.ts';

/** `2024-01-31 06:00:00Z`, without what is zero: `2024-01-31`. */
export function moment(timeMs: EpochMs): string {
  const text = new Date(timeMs).toISOString();
  if (timeMs % dayMs === 0) return text.slice(0, 10);
  return `${text.slice(0, timeMs % minuteMs === 0 ? 16 : 19).replace('T', ' ')}Z`;
}

/** The two largest units: `3 d 4 h`, `12 min`, `8 s`. */
export function duration(ms: number): string {
  const units = [
    [365 * dayMs, 'y'],
    [dayMs, 'd'],
    [hourMs, 'h'],
    [minuteMs, 'min'],
    [1000, 's'],
  ] as const;
  const first = units.findIndex(([length]) => ms >= length);
  if (first === -1) return `${Math.round(ms)} ms`;
  const parts: string[] = [];
  let rest = ms;
  for (const [length, unit] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.join(' ');
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 window`, `2 windows`. */
export function counted(value: number, thing: string): string {
  return `${count(value)} ${thing}${value === 1 ? '' : 's'}`;
}

/** `512 B`, `1.4 MB`: powers of a thousand. */
export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let left = value;
  let unit = 0;
  while (left >= 999.5 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${left.toFixed(unit > 0 && left < 9.95 ? 1 : 0)} ${units[unit]}`;
}

/** A share in percent; 100 only when it is whole, so that rounding never claims completeness. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part >= whole) return '100 %';
  return `${(Math.floor((part / whole) * 10_000) / 100).toFixed(2)} %`;
}

/** How much of the budget is used. @param perMinute 0: there is no limit. */
export function budgetText({ lastMinute, perMinute }: { lastMinute: number; perMinute: number }): string {
  return perMinute === 0
    ? `${counted(lastMinute, 'request')} in the last minute, no limit`
    : `${count(lastMinute)} of ${count(perMinute)} requests in the last minute`;
}

/** `12 timeout, 3 server error`: how many there are of each kind, the most first. */
export function kindsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, amount]) => amount > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, amount]) => `${count(amount)} ${kind.replaceAll('_', ' ')}`)
    .join(', ');
}
