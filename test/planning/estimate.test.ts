import { describe, expect, it } from 'vitest';
import type { CandleInterval } from '../../model/datasets/candles.ts';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import { longestRange } from '../../model/request-range.ts';
import type { SeriesKey } from '../../model/series.ts';
import { type EstimateRules, estimate, type PlannedSeries } from '../../planning/estimate.ts';

const rules: EstimateRules = {
  longestRangeMs: (series) => longestRange(series),
  requestsPerMinute: 500,
  backfillShare: 0.2,
  refreshMs: 15 * minuteMs,
  reread: { periods: 2, rangeMs: 3 * dayMs, everyMs: dayMs },
  pollsEveryMs: [5 * minuteMs],
};
const market = (interval: CandleInterval): SeriesKey => ({
  dataset: 'candles',
  exchange: 'x',
  baseId: 'a',
  quoteId: 'b',
  interval,
});
const missing = (days: number) => [{ startMs: 0, endMs: days * dayMs }];
const followed = (series: SeriesKey, days = 0): PlannedSeries => ({
  series,
  missing: days === 0 ? [] : missing(days),
  requests: days,
  isFollowed: true,
  density: null,
});

describe('the estimate of a plan', () => {
  it('adds the requests of the series, and counts points by periods and the stored density', () => {
    const planned = [
      { ...followed(market('m1'), 10), density: 0.5 },
      { ...followed(market('d1'), 30), requests: 1 },
      { ...followed({ dataset: 'asset_history', assetId: 'a', interval: 'd1' }, 365), requests: 1 },
      // Three events a day, until more are stored.
      { ...followed({ ...market('h1'), dataset: 'funding_rates' } as SeriesKey, 100), requests: 1 },
    ];
    const { costs, requests, points } = estimate(planned, rules);
    expect(costs).toEqual([
      { dataset: 'candles', series: 2, missingMs: 40 * dayMs, requests: 11, points: 7200 + 30 },
      { dataset: 'asset_history', series: 1, missingMs: 365 * dayMs, requests: 1, points: 365 },
      { dataset: 'funding_rates', series: 1, missingMs: 100 * dayMs, requests: 1, points: 300 },
    ]);
    expect([requests, points]).toEqual([13, 7895]);
  });

  it('computes the duration from the requests that refreshes leave, at least the share of backfill', () => {
    const alone = estimate([{ ...followed(market('m1'), 500), isFollowed: false }], { ...rules, pollsEveryMs: [] });
    expect(alone.durationMs).toBe(minuteMs);
    const busy = Array.from({ length: 1000 }, () => followed(market('m1')));
    const beside = estimate([...busy, { ...followed(market('m1'), 500), isFollowed: false }], rules);
    expect(beside.durationMs).toBeCloseTo(5 * minuteMs, 3);
    expect(estimate(busy, { ...rules, requestsPerMinute: 0 })).toMatchObject({
      ...{ durationMs: null, freshness: { everyMs: minuteMs } },
    });
  });

  it('states how stale refreshed series become when the budget is too small', () => {
    const minutes = Array.from({ length: 1000 }, () => followed(market('m1')));
    const { freshness } = estimate(minutes, { ...rules, reread: { ...rules.reread, rangeMs: 0 }, pollsEveryMs: [] });
    expect(freshness.refreshPerMinute).toBe(1000);
    expect(freshness.wantedEveryMs).toBe(minuteMs);
    expect(freshness.everyMs).toBe(2 * minuteMs);
    expect(freshness.everyMsInBackfill).toBe(2.5 * minuteMs);
    expect(freshness).toMatchObject({ neededPerMinute: 1000, maxThatFit: 500 });
    expect(estimate([], rules).freshness).toMatchObject({ wantedEveryMs: null, everyMs: null });
  });
});
