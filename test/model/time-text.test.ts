import { expect, it } from 'vitest';
import { parseInterval, parseIsoTime, parseWrittenTime } from '../../model/time-text.ts';

it('a cadence is a duration from ten seconds to a year', () => {
  expect(['10s', '30s', '5m', '5min', '1h', '366d'].map(parseInterval)).toEqual([
    10_000,
    30_000,
    300_000,
    300_000,
    3_600_000,
    366 * 86_400_000,
  ]);
  for (const text of ['5', '9s', '0m', '-5m', '5 m', '367d', 'm5', '', '1w', '1.5h', '5m '])
    expect([text, parseInterval(text)]).toEqual([text, null]);
});

it('a time is of UTC, has an offset, or counts milliseconds since 1970', () => {
  const six = Date.UTC(2024, 0, 31, 6);
  for (const text of [
    '2024-01-31T06:00',
    '2024-01-31T08:00+02:00',
    '2024-01-31T11:30+0530',
    '2024-01-30T22:00-08:00',
    '2024-01-31 08:00:00+02',
    '2024-01-31 06:00:00+00',
    String(six),
  ])
    expect([text, parseIsoTime(text)]).toEqual([text, six]);
  for (const text of ['2024-02-31', '2024-01-31T06:00+24:00', '2024-01-31+02:00', '1706680800', '2024-01-31T24:00'])
    expect([text, parseIsoTime(text)]).toEqual([text, null]);
  expect(['1970-01-01', '1969-12-31', '1970-01-01T00:00+01:00'].map(parseIsoTime)).toEqual([0, null, null]);
});

it('a date that another program wrote may have a fraction of zeros, or UTC behind it', () => {
  const six = Date.UTC(2024, 0, 31, 6);
  for (const text of ['2024-01-31 06:00:00.000000+00', '2024-01-31 06:00:00 UTC', '2024-01-31T08:00:00.0+02:00'])
    expect([text, parseWrittenTime(text)]).toEqual([text, six]);
  for (const text of [String(six), '2024-01-31 06:00:00.000001', '31.01.2024 06:00', '1970-01-01'])
    expect([text, parseWrittenTime(text)]).toEqual([text, null]);
});
