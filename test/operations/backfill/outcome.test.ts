import { expect, it } from 'vitest';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import { type Reason, reasons } from '../../../model/reasons.ts';
import type { CandleSeries } from '../../../model/series.ts';
import { lengthsBySeries, portionsOf } from '../../../operations/backfill/outcome.ts';
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
  const wanted = lengthsBySeries([gap(0, 2 * dayMs, 'not_asked')]);
  const tracked = new Map([[1, { series }]]);
  const beyond = gap(0, 1.5 * dayMs, 'beyond_depth');
  const portion = (gaps: readonly Gap[], windows = new Map<number, number>()) =>
    portionsOf(gaps, wanted, tracked, windows);
  expect(portion([gap(0, 2 * dayMs, 'not_asked')], new Map([[1, 5]]))).toEqual([
    { series, wantedMs: 2 * dayMs, doneMs: 0, windowsLeft: 5 },
  ]);
  expect(portion([beyond, gap(1.5 * dayMs, 1.5 * dayMs + hourMs, 'failed')])).toEqual([
    { series, wantedMs: 12 * hourMs, doneMs: 11 * hourMs, windowsLeft: 0 },
  ]);
  expect(portion([beyond])).toEqual([{ series, wantedMs: 12 * hourMs, doneMs: 12 * hourMs, windowsLeft: 0 }]);
});
