import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { longSilences } from '../../planning/silences.ts';

const days = (...of: number[]) => of.map((day) => day * dayMs);
const minutes = (from: number, until: number) =>
  Array.from({ length: until - from }, (_, place) => (from + place) * minuteMs);

test.each([
  ['one missing day among days', days(0, 1, 3, 4), dayMs, [[2, 3]]],
  ['a missing day that is usual', days(0, 2, 4, 6), dayMs, []],
  ['a year among days, and not the days that are usual there', days(0, 2, 3, 400, 401), dayMs, [[4, 400]]],
  ['hours of a dense market', [...minutes(0, 700), ...minutes(840, 1000)], minuteMs, [[700 / 1440, 840 / 1440]]],
  ['quiet hours that come twice', [...minutes(0, 300), ...minutes(540, 800), ...minutes(1000, 1300)], minuteMs, []],
  ['an hour among hours', [0, 1, 2, 4, 5].map((hour) => hour * hourMs), hourMs, []],
  ['nothing without points', [], dayMs, []],
])('finds %s', (_, timesMs, periodMs, expected) => {
  const ranges = longSilences(timesMs, periodMs).map(({ startMs, endMs }) => [startMs / dayMs, endMs / dayMs]);
  expect(ranges).toEqual(expected);
});
