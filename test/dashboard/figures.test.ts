import { expect, it } from 'vitest';
import { chartInterval, chartIntervals } from '../../dashboard/chart-intervals.ts';
import { progressWords } from '../../dashboard/page/overview/progress.ts';
import { backfillProgress } from '../../dashboard/page/state/model.ts';
import { windowPairs } from '../../dashboard/queue.ts';
import type { SeriesLine, Summary } from '../../dashboard/shapes.ts';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { extentOf } from '../../planning/progress.ts';

it('says that requests wait for a retry only where all of them do', () => {
  const line = (of: Partial<SeriesLine>) =>
    ({
      ...{ wantedMs: 100, coveredMs: 99, requests: 100, requestsLeft: 0 },
      failedMs: 0,
      awaitingMs: 0,
      blocked: null,
      ...of,
    }) as SeriesLine;
  const words = (due: number, ...lines: SeriesLine[]) => {
    const state = { ...extentOf(lines), left: due, etaMs: 15 * minuteMs };
    return progressWords(lines.length, backfillProgress(lines), { state, queue: null } as Summary);
  };
  // The lines are newer than the count of what is due.
  const closed = line({ requestsLeft: 1 });
  const failed = line({ requestsLeft: 1, failedMs: hourMs });
  const awaiting = line({ requestsLeft: 1, awaitingMs: hourMs });
  expect(words(0, closed, closed, line({}))).toBe('2 of 300 requests to go, 99.00 % covered');
  expect(words(0, failed, awaiting, line({}))).toBe('2 of 300 requests to go, waiting for a retry, 99.00 % covered');
  expect(words(0, failed, closed)).toBe('2 of 200 requests to go, 99.00 % covered');
  // Others wait for a retry.
  const refused = line({ requestsLeft: 9, blocked: 'refused' });
  expect(words(1, closed, failed, refused)).toBe(
    '1 of 200 requests to go, about 15 min, 99.00 % covered; 9 more are refused by the source',
  );
  expect(words(0, refused, line({}))).toBe('Nothing can be fetched now: 9 requests are refused by the source.');
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
