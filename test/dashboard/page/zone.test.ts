/** Times and days of zones: half hours, changes of the clock, and midnights that are skipped or come twice. */

import { expect, it } from 'vitest';
import { dayStart, timeIn, wholeDays, zoneName, zoneNamed } from '../../../dashboard/page/series/zone.ts';
import { hourMs } from '../../../model/intervals.ts';

const at = Date.parse;
const iso = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 16);

it('a zone is found by its name in any case, and one that does not exist is none', () => {
  expect(['', 'UTC', 'Local time', 'local', 'asia/kolkata', ' Europe/Berlin '].map(zoneNamed)).toEqual([
    ...['utc', 'utc', 'local', 'local'],
    ...[expect.stringMatching(/^Asia\/(?:Kolkata|Calcutta)$/), 'Europe/Berlin'],
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
