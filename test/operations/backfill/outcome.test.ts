import { expect, it } from 'vitest';
import { dayMs, hourMs, type Range } from '../../../model/intervals.ts';
import { lengthMs } from '../../../model/ranges.ts';
import { type Reason, reasons } from '../../../model/reasons.ts';
import type { CandleSeries } from '../../../model/series.ts';
import { partsWithin, portionsOf } from '../../../operations/backfill/outcome.ts';
import type { DividedGaps } from '../../../operations/source-gaps.ts';
import type { Gap } from '../../../store/series/gaps.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';

const series: CandleSeries = { ...bitcoinHours, exchange: 'kraken', interval: 'm1' };
const gap = (startMs: number, endMs: number, cause: Reason): Gap => ({
  startMs,
  endMs,
  seriesId: 1,
  series,
  reason: reasons[cause].shown,
  cause,
  message: null,
  source: 'kraken',
  retryAtMs: null,
  sinceMs: null,
});

it('leaves what the source has no longer out of the progress', () => {
  const parts = new Map([[1, { series, wantedMs: 2 * dayMs, requests: 5 }]]);
  const beyond = gap(0, 1.5 * dayMs, 'beyond_depth');
  const portion = (gaps: readonly Gap[], windows = new Map<number, number>()) => portionsOf(gaps, parts, windows);
  expect(portion([gap(0, 2 * dayMs, 'not_asked')], new Map([[1, 5]]))).toEqual([
    { series, wantedMs: 2 * dayMs, doneMs: 0, left: 5, requests: 5 },
  ]);
  expect(portion([beyond, gap(1.5 * dayMs, 1.5 * dayMs + hourMs, 'failed')])).toEqual([
    { series, wantedMs: 12 * hourMs, doneMs: 11 * hourMs, left: 0, requests: 5 },
  ]);
  expect(portion([beyond])).toEqual([{ series, wantedMs: 12 * hourMs, doneMs: 12 * hourMs, left: 0, requests: 5 }]);
});

it('measures a backfill by its part of what is tracked', () => {
  const row = { seriesId: 1, series, wantedMs: 10 * dayMs, askedFromMs: 4 * dayMs, askedToMs: 10 * dayMs };
  const divide = (_: unknown, gaps: readonly Range[]) =>
    ({ parts: [{ windows: lengthMs(gaps) / dayMs }] }) as unknown as DividedGaps;
  const within = (startMs: number, endMs: number) => partsWithin([row], new Map([[1, { startMs, endMs }]]), divide);
  // Days before the beginning are covered, and are not requested as a whole.
  expect(within(-dayMs, 20 * dayMs).get(1)).toEqual({ series, wantedMs: 10 * dayMs, requests: 6 });
  expect(within(3 * dayMs, 6 * dayMs).get(1)).toEqual({ series, wantedMs: 3 * dayMs, requests: 2 });
});
