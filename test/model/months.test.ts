import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import { countFiles, fileOf, windowsByFile } from '../../model/months.ts';
import { subtract } from '../../model/ranges.ts';

const day = Date.UTC(2024, 0, 1);
const spillMs = 5 * minuteMs;
const spilling = { unit: 'day', lagMs: 0, spillMs } as const;
const periods = fc.integer({ min: 1, max: 900 }).map((count) => count * spillMs);

describe('windows by file', () => {
  test('cover a range in as many files as are counted', () => {
    fc.assert(
      fc.property(fc.nat({ max: 600 }), periods, fc.constantFrom(0, spillMs), (from, length, spill) => {
        const files = { ...spilling, spillMs: spill };
        const range = { startMs: day + from * spillMs, endMs: day + from * spillMs + length };
        const windows = [...windowsByFile(range, files)];
        expect(windows).toHaveLength(countFiles(range, files));
        expect([subtract([range], windows), subtract(windows, [range])]).toEqual([[], []]);
        const names = windows.map((window) => fileOf(window, files).startMs);
        expect(new Set(names).size).toBe(names.length);
      }),
    );
  });

  test.each([
    [
      'of two days',
      0,
      2 * dayMs,
      [
        [-dayMs, 0, spillMs],
        [0, 0, dayMs + spillMs],
        [dayMs, dayMs, 2 * dayMs],
      ],
    ],
    ['from within a day', spillMs, dayMs + spillMs, [[0, spillMs, dayMs + spillMs]]],
    ['of the first time alone', 0, spillMs, [[-dayMs, 0, spillMs]]],
  ])('%s: each start of a day in the file before it too', (_, startMs, endMs, expected) => {
    const windows = [...windowsByFile({ startMs: day + startMs, endMs: day + endMs }, spilling)];
    expect(
      windows.map((window) => [fileOf(window, spilling).startMs - day, window.startMs - day, window.endMs - day]),
    ).toEqual(expected);
  });
});
