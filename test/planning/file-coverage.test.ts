import { expect, it } from 'vitest';
import { minuteMs } from '../../model/intervals.ts';
import { confirmedRanges } from '../../model/ranges.ts';
import { periodOf } from '../../planning/periods.ts';

const minute = (index: number) => Date.UTC(2024, 0, 1) + index * minuteMs;
const range = (from: number, to: number) => ({ startMs: minute(from), endMs: minute(to) });
const read = { window: range(0, 100), holes: [] };

it('takes the stated ranges within the window, without the periods of rejected rows', () => {
  expect(confirmedRanges([range(-5, 10), range(20, 200)], read)).toEqual([range(0, 10), range(20, 100)]);
  expect(confirmedRanges([range(0, 10)], { ...read, window: range(5, 5) })).toEqual([]);
  const holes = [periodOf(minute(5) + 1, 'm1')];
  expect(confirmedRanges([range(0, 10)], { ...read, holes })).toEqual([range(0, 5), range(6, 10)]);
});
