import { describe, expect, it } from 'vitest';
import { candleIntervals, dayMs, historyIntervals, hourMs, minuteMs } from '../../../contract/intervals.ts';
import { backfillProgress } from '../../../service/dashboard/page/model.ts';
import { inFlightPairs } from '../../../service/dashboard/queue.ts';
import {
  chartInterval,
  chartIntervals,
  type RequestMinutes,
  type SeriesLine,
} from '../../../service/dashboard/shapes.ts';

describe('backfill progress', () => {
  const nowMs = Date.UTC(2024, 0, 1, 12, 0, 30);
  const startMs = nowMs - 30_000 - 59 * minuteMs;
  const series = (requestsLeft: number, requests: number) => [
    { requestsLeft, requests, blocked: null } as SeriesLine,
  ];
  /** @param backfill of the last minutes, the running one last. */
  const minutes = (...backfill: number[]): RequestMinutes => {
    const counts = [...new Array<number>(60 - backfill.length).fill(0), ...backfill];
    return {
      startMs,
      lanes: { backfill: counts, refresh: counts.map(() => 99) },
      failed: counts.map(() => 0),
    };
  };

  const seen = (requests: RequestMinutes, workers = 1) => ({
    requests,
    queue: { waiting: 0, active: 0, delayed: 0, workers, pausedMs: 0 },
  });

  it('measures the rate of gap-filling lanes over the last ten minutes', () => {
    const steady = minutes(...new Array<number>(15).fill(100), 50);
    const progress = backfillProgress(series(1000, 4000), seen(steady), nowMs);
    expect(progress).toMatchObject({ requests: 4000, left: 1000, perMinute: 100 });
    expect(progress.expectedMs).toBe(10 * minuteMs);
  });

  it('excludes the pause before the backfill began', () => {
    expect(backfillProgress(series(150, 300), seen(minutes(100, 50)), nowMs).perMinute).toBe(100);
    // Of a few seconds no rate is made.
    expect(backfillProgress(series(5, 9), seen(minutes(1)), nowMs - 29_000).perMinute).toBe(6);
  });

  it('gives no estimate when nothing is left or nothing was done', () => {
    expect(backfillProgress(series(0, 10), seen(minutes(100)), nowMs).expectedMs).toBeNull();
    expect(backfillProgress(series(10, 10), seen(minutes()), nowMs)).toMatchObject({
      perMinute: 0,
      expectedMs: null,
    });
    const longAgo = minutes(100, ...new Array<number>(20).fill(0));
    expect(backfillProgress(series(10, 10), seen(longAgo), nowMs).expectedMs).toBeNull();
  });

  it('excludes series that the source refuses', () => {
    const refused = { requestsLeft: 900, requests: 1000, blocked: 'no such asset' } as SeriesLine;
    const steady = seen(minutes(...new Array<number>(15).fill(100), 50));
    expect(backfillProgress([...series(200, 400), refused], steady, nowMs)).toEqual({
      requests: 500,
      left: 200,
      refused: 900,
      perMinute: 100,
      expectedMs: 2 * minuteMs,
    });
    expect(backfillProgress([refused], steady, nowMs)).toMatchObject({ left: 0, expectedMs: null });
  });

  it('gives no estimate without workers, and uses the rate when the queue is unavailable', () => {
    const of = minutes(...new Array<number>(15).fill(100), 50);
    expect(backfillProgress(series(200, 400), seen(of, 0), nowMs).expectedMs).toBeNull();
    const away = { requests: of, queue: null };
    expect(backfillProgress(series(200, 400), away, nowMs).expectedMs).toBe(2 * minuteMs);
  });
});

describe('the interval of a chart', () => {
  it('is the finest interval that fits the screen', () => {
    expect(chartInterval('m1', 200 * minuteMs, 300)).toBe('m1');
    expect(chartInterval('m1', 301 * minuteMs, 300)).toBe('m5');
    expect(chartInterval('h8', 400 * 8 * hourMs, 300)).toBe('d1');
    expect(chartInterval('m1', 40 * 365 * dayMs, 300)).toBe('w1');
    expect(chartIntervals('h6')).toEqual(['h6', 'h12', 'd1', 'w1']);
    expect(chartIntervals('h8')).toEqual(['h8', 'd1', 'w1']);
  });

  it.each([...new Set([...candleIntervals, ...historyIntervals])])('is found for any span of %s', (own) => {
    for (let spanMs = minuteMs; spanMs < 50 * 365 * dayMs; spanMs *= 3)
      expect(chartIntervals(own)).toContain(chartInterval(own, spanMs, 400));
  });
});

it('maps queued windows to columns, joined and clipped, at least one each', () => {
  const band = { startMs: 0, endMs: 1000 };
  const window = (startMs: number, endMs: number) => ({ startMs, endMs });
  expect(inFlightPairs([window(500, 600), window(100, 200), window(150, 300)], band, 10)).toEqual([
    1, 3, 5, 6,
  ]);
  expect(inFlightPairs([window(-50, 50), window(990, 2000)], band, 10)).toEqual([0, 1, 9, 10]);
  expect(inFlightPairs([window(401, 402)], band, 10)).toEqual([4, 5]);
  expect(inFlightPairs([window(1000, 1100), window(-10, 0)], band, 10)).toEqual([]);
});
