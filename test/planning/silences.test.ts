import { expect, test } from 'vitest';
import { dayMs, hourMs } from '../../contract/intervals.ts';
import { longSilences } from '../../planning/silences.ts';

const days = (...of: number[]) => of.map((day) => day * dayMs);

test.each([
  ['one missing day among days', days(0, 1, 3, 4), dayMs, [[2, 3]]],
  ['a missing day that is usual', days(0, 2, 4, 6), dayMs, []],
  ['a year among days, and not the days that are usual there', days(0, 2, 3, 400, 401), dayMs, [[4, 400]]],
  ['hours that are fewer than a day', [0, 20 * hourMs], hourMs, []],
  ['nothing without points', [], dayMs, []],
])('finds %s', (_, timesMs, periodMs, expected) => {
  const ranges = longSilences(timesMs, periodMs).map(({ startMs, endMs }) => [
    startMs / dayMs,
    endMs / dayMs,
  ]);
  expect(ranges).toEqual(expected);
});
