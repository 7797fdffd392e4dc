import { expect, it } from 'vitest';
import { chartInterval, chartIntervals } from '../../dashboard/chart-intervals.ts';
import { progressWords } from '../../dashboard/page/overview/progress.ts';
import { backfillProgress } from '../../dashboard/page/state/model.ts';
import { windowPairs } from '../../dashboard/queue.ts';
import type { SeriesLine, Summary } from '../../dashboard/shapes.ts';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';

it('says that requests wait for a retry only where all of them do', () => {
  const line = (of: Partial<SeriesLine>) =>
    ({ requests: 100, requestsLeft: 0, blocked: null, failedMs: 0, awaitingMs: 0, ...of }) as SeriesLine;
  // The lines are newer than the count of what is due.
  const words = (...lines: SeriesLine[]) =>
    progressWords(lines.length, backfillProgress(lines), { state: { etaMs: 0, left: 0 }, queue: null } as Summary);
  const closed = line({ requestsLeft: 1 });
  const failed = line({ requestsLeft: 1, failedMs: hourMs });
  const awaiting = line({ requestsLeft: 1, awaitingMs: hourMs });
  expect(words(closed, closed, line({}))).toBe('99.33 %, 2 windows left');
  expect(words(failed, awaiting, line({}))).toBe('2 of 300 requests left, waiting for a retry');
  expect(words(failed, closed)).toBe('99.00 %, 2 windows left');
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
