/** Times and days of zones: half hours, changes of the clock, and midnights that are skipped or come twice. */

import { expect, it, onTestFinished, vi } from 'vitest';
import { dayStart, timeIn, wholeDays, zoneName, zoneNamed, zones } from '../../../dashboard/page/series/zone.ts';
import { hourMs } from '../../../model/intervals.ts';

const at = Date.parse;
const iso = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 16);

it('a zone is found by its name in any case, and one that does not exist is none', () => {
  expect(['', 'UTC', 'Local time', 'local', 'asia/kolkata', ' Europe/Berlin '].map(zoneNamed)).toEqual([
    ...['utc', 'utc', 'local', 'local'],
    ...['Asia/Kolkata', 'Europe/Berlin'],
  ]);
  expect(['Mars/Olympus', 'x'].map(zoneNamed)).toEqual([null, null]);
});

it('times have the distance of their zone at that time', () => {
  expect(timeIn('Asia/Kolkata', at('2024-01-01T00:00Z'))).toBe('2024-01-01 05:30+05:30');
  expect(timeIn('America/New_York', at('2024-07-01T00:00Z'))).toBe('2024-06-30 20:00-04:00');
  expect(timeIn('America/New_York', at('2024-01-01T00:00Z'))).toBe('2023-12-31 19:00-05:00');
  expect(timeIn('Europe/London', at('2024-01-01T12:00Z'))).toBe('2024-01-01 12:00Z');
  expect(zoneName('Asia/Kathmandu', at('2024-01-01T12:00Z'))).toBe('UTC+05:45');
});

it.each([
  ['utc', '2024-03-10T13:00Z', '2024-03-10T00:00', '2024-03-11T00:00'],
  ['Asia/Kolkata', '2024-03-10T19:00Z', '2024-03-10T18:30', '2024-03-11T18:30'],
  // 23 and 25 hours.
  ['America/New_York', '2024-03-10T13:00Z', '2024-03-10T05:00', '2024-03-11T04:00'],
  ['America/New_York', '2024-11-03T13:00Z', '2024-11-03T04:00', '2024-11-04T05:00'],
  // The clock went from 00:00 to 01:00.
  ['America/Sao_Paulo', '2018-11-04T13:00Z', '2018-11-04T03:00', '2018-11-05T02:00'],
  // And from 00:00 back to 23:00.
  ['America/Sao_Paulo', '2018-02-18T13:00Z', '2018-02-18T03:00', '2018-02-19T03:00'],
  ['America/Sao_Paulo', '2018-02-18T02:30Z', '2018-02-17T02:00', '2018-02-18T03:00'],
])('a day of %s at %s', (zone, time, start, end) => {
  expect(iso(dayStart(zone, at(time)))).toBe(start);
  const { startMs, endMs } = wholeDays(zone, { startMs: at(time), endMs: at(time) + 1 });
  expect([iso(startMs), iso(endMs)]).toEqual([start, end]);
  // What is whole stays.
  expect(wholeDays(zone, { startMs, endMs })).toEqual({ startMs, endMs });
  expect(iso(wholeDays(zone, { startMs, endMs: endMs + hourMs }).startMs)).toBe(start);
});

const renamed = [
  ...['Asia/Kolkata Asia/Calcutta', 'Asia/Ho_Chi_Minh Asia/Saigon', 'Asia/Kathmandu Asia/Katmandu'],
  ...['Asia/Yangon Asia/Rangoon', 'Europe/Kyiv Europe/Kiev', 'America/Nuuk America/Godthab'],
].map((names) => names.split(' ') as [string, string]);

it.each(renamed)('%s has its name of today, and is found by %s too', (today, before) => {
  expect([today, before].map(zoneNamed)).toEqual([today, today]);
  const listed = () => zones().filter(({ name, text }) => [name, text].some((one) => one.includes(before)));
  expect(listed()).toEqual([{ name: today, text: `${today} (${before})` }]);
  // As other browsers list it.
  vi.spyOn(Intl, 'supportedValuesOf').mockReturnValue([today, 'Europe/Berlin']);
  expect(listed()).toEqual([{ name: today, text: `${today} (${before})` }]);
});

it('a browser that does not know the name of today is asked for the one before', () => {
  class OlderFormat extends Intl.DateTimeFormat {
    constructor(language: string, options: Intl.DateTimeFormatOptions) {
      if (options.timeZone?.toLowerCase() === 'pacific/kanton') throw new RangeError('Invalid time zone specified');
      super(language, options);
    }
  }
  vi.stubGlobal('Intl', { DateTimeFormat: OlderFormat });
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(zoneNamed('pacific/kanton')).toBe('Pacific/Kanton');
  expect(timeIn('Pacific/Kanton', at('2024-01-01T00:00Z'))).toBe('2024-01-01 13:00+13:00');
});

it('zones are listed once each, in the order of their names, after UTC and the clock of the reader', () => {
  const names = zones().map(({ name }) => name);
  expect(names.slice(0, 2)).toEqual(['UTC', 'Local time']);
  expect(names.slice(2)).toEqual([...new Set(names.slice(2))].sort());
  expect(names.length).toBeGreaterThan(400);
  for (const name of names) expect(zoneNamed(name)).not.toBeNull();
});
