/** Times of the chart, in UTC or as the reader's clock shows them. */

import { formatTime } from '../parts/format.ts';

export type Zone = 'utc' | 'local';

/** Name of the zone for the axis, such as `UTC` or `UTC+05:30`, at a time. */
export function zoneName(zone: Zone, timeMs: number): string {
  if (zone === 'utc') return 'UTC';
  const minutes = -new Date(timeMs).getTimezoneOffset();
  if (minutes === 0) return 'UTC';
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

/** The time on the clock of the zone, as if it were UTC: what the chart draws and formats. */
export function shifted(zone: Zone, timeMs: number): number {
  return zone === 'utc' ? timeMs : timeMs - new Date(timeMs).getTimezoneOffset() * 60_000;
}

/** `2024-01-01` or `2024-01-01 05:00Z`; on the reader's clock with its distance from UTC in place of `Z`. */
export function timeIn(zone: Zone, timeMs: number): string {
  if (zone === 'utc') return formatTime(timeMs);
  const name = zoneName(zone, timeMs);
  const text = new Date(shifted(zone, timeMs)).toISOString().slice(0, 16).replace('T', ' ');
  return `${text}${name === 'UTC' ? 'Z' : name.slice('UTC'.length)}`;
}
