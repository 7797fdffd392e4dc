import { expect, it } from 'vitest';
import { dayMs, hourMs } from '../../model/intervals.ts';
import { diskFor, hourlyShareOf } from '../../planning/estimate.ts';

const nowMs = Date.UTC(2026, 0, 1);
const series = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' } as const;
const bytes = { row: 100, kept: 10 };

/** 100 days of hours, each of which may have a point. */
const planned = (density: number | null) => ({
  series,
  isFollowed: true,
  density,
  missing: [{ startMs: nowMs - 100 * dayMs, endMs: nowMs }],
});

it('keeps the newest points as rows and the rest compressed, except at the peak', () => {
  const rules = { bytes, rowDays: 40, nowMs, hourlyShare: 0.5 };
  const kept = 40 * 24 * 100 + 60 * 24 * 10;
  expect(diskFor([planned(null)], rules)).toEqual({ bytes: kept, peakBytes: kept + (60 * 24 * 90) / 2 });
  expect(diskFor([planned(0.5), planned(0.5)], rules).bytes).toBe(kept);
  expect(diskFor([], rules)).toEqual({ bytes: 0, peakBytes: 0 });
});

it('assumes that all of a short backfill arrives within the hour', () => {
  expect([null, 0, hourMs / 2, hourMs, 4 * hourMs].map(hourlyShareOf)).toEqual([1, 1, 1, 1, 0.25]);
});
