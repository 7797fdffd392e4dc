import { expect, it } from 'vitest';
import { minuteMs } from '../../contract/intervals.ts';
import { borneOut, holds, periodOf } from '../../planning/file-coverage.ts';

const minute = (index: number) => Date.UTC(2024, 0, 1) + index * minuteMs;
const range = (from: number, to: number) => ({ startMs: minute(from), endMs: minute(to) });
const read = { window: range(0, 100), closedUpToMs: minute(100), holes: [], only: null };

it('takes what is stated of the window, up to the last closed period', () => {
  expect(borneOut([range(-5, 10), range(20, 200)], read)).toEqual([range(0, 10), range(20, 100)]);
  expect(borneOut([range(-5, 10), range(20, 200)], { ...read, closedUpToMs: minute(30) })).toEqual([
    range(0, 10),
    range(20, 30),
  ]);
  expect(borneOut([range(0, 10)], { ...read, closedUpToMs: minute(-1) })).toEqual([]);
});

it('leaves out the periods of refused rows, and with a row of nobody all that have no row', () => {
  const holes = [periodOf(minute(5) + 1, 'm1')];
  expect(borneOut([range(0, 10)], { ...read, holes })).toEqual([range(0, 5), range(6, 10)]);
  const only = [range(2, 3), range(5, 8), range(50, 51)];
  expect(borneOut([range(0, 10)], { ...read, holes, only })).toEqual([range(2, 3), range(6, 8)]);
});

it('finds the range that holds a moment', () => {
  const ranges = [range(0, 2), range(4, 6), range(9, 10)];
  const held = Array.from({ length: 12 }, (_, index) => index).filter((index) =>
    holds(ranges, minute(index)),
  );
  expect(held).toEqual([0, 1, 4, 5, 9]);
  expect(holds(ranges, minute(2) - 1)).toBe(true);
  expect(holds([], 0)).toBe(false);
});
