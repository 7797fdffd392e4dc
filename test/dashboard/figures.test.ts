import { expect, it } from 'vitest';
import { chartInterval, chartIntervals } from '../../dashboard/chart-intervals.ts';
import { progressWords } from '../../dashboard/page/overview/progress.ts';
import { backfillProgress } from '../../dashboard/page/state/model.ts';
import { windowPairs } from '../../dashboard/queue.ts';
import type { SeriesLine, Summary } from '../../dashboard/shapes.ts';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { extentOf } from '../../planning/progress.ts';

it('says what waits, where all that is left does, as status says it', () => {
  const line = (requestsLeft: number, blocked: string | null = null) =>
    ({ wantedMs: 100, coveredMs: 99, requests: 100, requestsLeft, blocked }) as SeriesLine;
  const words = (due: number, lines: SeriesLine[], waiting: string | null = null) => {
    const state = { ...extentOf(lines), left: due, etaMs: 15 * minuteMs, waiting };
    return progressWords(lines.length, backfillProgress(lines), { state, queue: null } as Summary);
  };
  const again = '2 ranges are asked again at 2026-01-31 06:00Z (failed), 99.00 % covered';
  expect(words(0, [line(1), line(1), line(0)], again)).toBe(again);
  const refused = line(9, 'refused');
  expect(words(0, [refused, line(0)], again)).toBe(again);
  expect(words(1, [line(1), line(1), refused])).toBe(
    '1 of 200 requests to go, about 15 min, 99.00 % covered; 9 more are refused by the source',
  );
  expect(words(0, [line(0)])).toBe('Complete: nothing is left to fetch.');
  // Such as of what no source keeps.
  expect(words(0, [line(1), line(0)])).toBe('Nothing can be fetched now, 99.00 % covered.');
});

it('a chart has the finest interval that fits the screen', () => {
  expect(chartInterval('m1', 200 * minuteMs, 300)).toBe('m1');
  expect(chartInterval('m1', 301 * minuteMs, 300)).toBe('m5');
  expect(chartInterval('h8', 400 * 8 * hourMs, 300)).toBe('d1');
  expect(chartInterval('m1', 40 * 365 * dayMs, 300)).toBe('w1');
  expect(chartIntervals('h6')).toEqual(['h6', 'h12', 'd1', 'w1']);
  expect(chartIntervals('h8')).toEqual(['h8', 'd1', 'w1']);
});

it('maps queued windows to columns, joined and clipped, at least one each', () => {
  const band = { startMs: 0, endMs: 1000 };
  const window = (startMs: number, endMs: number) => ({ startMs, endMs });
  expect(windowPairs([window(500, 600), window(100, 200), window(150, 300)], band, 10)).toEqual([1, 3, 5, 6]);
  expect(windowPairs([window(-50, 50), window(990, 2000)], band, 10)).toEqual([0, 1, 9, 10]);
  expect(windowPairs([window(401, 402)], band, 10)).toEqual([4, 5]);
  expect(windowPairs([window(1000, 1100), window(-10, 0)], band, 10)).toEqual([]);
});
