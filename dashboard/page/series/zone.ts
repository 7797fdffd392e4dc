/** Times and days of the chart: in UTC, on the reader's clock, or in a named zone. */

import { dayMs, type EpochMs, minuteMs, type Range } from '../../../model/intervals.ts';
import { formatTime } from '../parts/format.ts';

/** `utc`, `local` (the reader's clock), or a name of the IANA database, such as `Asia/Kolkata`. */
export type Zone = string;

/** Zones that browsers list by a name of former times, with those of today. */
const renamed: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};
const formerNames = new Map(Object.entries(renamed).map(([before, today]) => [today, before]));

const formats = new Map<Zone, Intl.DateTimeFormat>();

/** How far the clock of a zone is ahead of UTC. @throws RangeError for a name that is none. */
function offsetMs(zone: Zone, timeMs: EpochMs): number {
  if (zone === 'utc') return 0;
  if (zone === 'local') return -new Date(timeMs).getTimezoneOffset() * minuteMs;
  const known = formats.get(zone);
  const format = known ?? formatIn(zone);
  if (known === undefined) formats.set(zone, format);
  const name = format.formatToParts(timeMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  // `GMT`, or `GMT+05:30`; of times before there were zones also with seconds.
  const [, sign, hours, minutes, seconds = '0'] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name) ?? [];
  if (sign === undefined) return 0;
  const ms = (Number(hours) * 60 + Number(minutes)) * minuteMs + Number(seconds) * 1000;
  return sign === '-' ? -ms : ms;
}

/** An older browser knows a zone by its former name only. @throws RangeError for a name that is none. */
function formatIn(name: string): Intl.DateTimeFormat {
  const format = (timeZone: string) => new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  try {
    return format(name);
  } catch (error) {
    const [, before] = [...formerNames].find(([today]) => today.toLowerCase() === name.toLowerCase()) ?? [];
    if (before === undefined) throw error;
    return format(before);
  }
}

/** A zone as it is written in the address or typed; null: there is none of the name. */
export function zoneNamed(text: string): Zone | null {
  const name = text.trim();
  if (['', 'utc'].includes(name.toLowerCase())) return 'utc';
  if (['local', 'local time'].includes(name.toLowerCase())) return 'local';
  try {
    const { timeZone } = formatIn(name).resolvedOptions();
    return renamed[timeZone] ?? timeZone;
  } catch {
    return null;
  }
}

/** Zones to choose from, by the names of today. @returns also the text in which a former name is found. */
export function zones(): ReadonlyArray<{ readonly name: string; readonly text: string }> {
  const names = new Set(Intl.supportedValuesOf('timeZone').map((name) => renamed[name] ?? name));
  names.delete('UTC');
  const text = (name: string) => (formerNames.has(name) ? `${name} (${formerNames.get(name)})` : name);
  return ['UTC', 'Local time', ...[...names].sort()].map((name) => ({ name, text: text(name) }));
}

/** What a field shows of a zone. */
export function zoneTitle(zone: Zone): string {
  return { utc: 'UTC', local: 'Local time' }[zone] ?? zone;
}

/** The distance from UTC at a time for the axis, such as `UTC` or `UTC+05:30`. */
export function zoneName(zone: Zone, timeMs: EpochMs): string {
  const minutes = Math.trunc(offsetMs(zone, timeMs) / minuteMs);
  if (minutes === 0) return 'UTC';
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

/** The time on the clock of the zone, as if it were UTC. */
export function shifted(zone: Zone, timeMs: EpochMs): number {
  return timeMs + offsetMs(zone, timeMs);
}

/** `2024-01-01`, `2024-01-01 05:00Z`; in another zone with its distance from UTC in place of `Z`. Also with seconds. */
export function timeIn(zone: Zone, timeMs: EpochMs): string {
  if (zone === 'utc') return formatTime(timeMs);
  const name = zoneName(zone, timeMs);
  const text = new Date(shifted(zone, timeMs))
    .toISOString()
    .slice(0, timeMs % minuteMs === 0 ? 16 : 19)
    .replace('T', ' ');
  return `${text}${name === 'UTC' ? 'Z' : name.slice('UTC'.length)}`;
}

/**
 * When the day of a time begins in the zone: where midnight is skipped by a change of the clock, at that change; where
 * it comes twice, at the last one.
 */
export function dayStart(zone: Zone, timeMs: EpochMs): EpochMs {
  const midnight = Math.floor(shifted(zone, timeMs) / dayMs) * dayMs;
  const offsets = [-dayMs, 0, dayMs].map((by) => offsetMs(zone, midnight + by));
  const starts = offsets.map((offset) => midnight - offset).filter((at) => shifted(zone, at) >= midnight);
  return Math.min(...starts);
}

/** The whole days of a zone that a range touches: of 23 or 25 hours where the clock changes. */
export function wholeDays(zone: Zone, { startMs, endMs }: Range): Range {
  const last = dayStart(zone, endMs - 1);
  // A day and a quarter after its beginning is the day after, however long it is.
  return { startMs: dayStart(zone, startMs), endMs: dayStart(zone, last + 1.25 * dayMs) };
}
