import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { planWindows } from '../../planning/plan.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import type { WindowCommit } from '../../store/commit/prepare-window.ts';
import type { Database } from '../../store/db/database.ts';
import { listGaps, seriesWithGaps } from '../../store/series/gaps.ts';
import { trackSeries } from '../../store/series/series.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { pointLinesOf } from '../parts/points.ts';
import { commitWindow } from '../store/committing.ts';
import { openOwnStore } from '../store/open-store.ts';
import { emptyConfirmMs, graceMs } from './run-pipeline.ts';
import { coverageOf, storedPoints } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const { truth } = createSimulator({ seed: 'caps', clock: { now: () => nowMs } });

function candles(exchange: string, baseId: string, quoteId: string): SeriesKey {
  return { dataset: 'candles', exchange, baseId, quoteId, interval: 'm1' };
}
const history: SeriesKey = { dataset: 'asset_history', assetId: 'ethereum', interval: 'm1' };
const lines: readonly SeriesKey[] = [
  candles('binance', 'bitcoin', 'tether'),
  candles('kraken', 'litecoin', 'euro'),
  candles('bitso', 'xrp', 'mexican-peso'),
  history,
];

function rowsOf(series: SeriesKey, range: Range): readonly (Candle | HistoryPoint)[] {
  return truth.points(series, range);
}

interface Cap {
  readonly rows: number;
  readonly keeps: 'oldest' | 'newest';
}

/** Plans and commits until nothing is left to request, and moves the clock when only time helps. @returns requests. */
async function fill(database: Database, seriesIds: number[], spanMs: number, cap: Cap): Promise<number> {
  let requests = 0;
  let atMs = nowMs;
  for (let waits = 0; waits <= 3; ) {
    const query = { nowMs: atMs, graceMs, openRefreshMs: null, seriesIds, rangesPerSeries: 50 };
    const { windows } = planWindows({
      source: defaultSource,
      series: await seriesWithGaps(database, query),
      claimed: new Map(),
      nowMs: atMs,
      graceMs,
      longestRangeMs: () => spanMs,
      slots: { total: 4, refresh: 4 },
      cursor: 0,
    });
    for (const window of windows) {
      const all = rowsOf(window.series, window);
      const kept = cap.keeps === 'oldest' ? all.slice(0, cap.rows) : all.slice(-cap.rows);
      const rows = pointLinesOf(window.series.dataset, kept);
      const answer = { rows, rejected: [], sourceTimeMs: atMs, status: 200, bytes: 1, durationMs: 1 };
      const commit = { window, attempt: 1, answer, nowMs: atMs, rules: { graceMs, emptyConfirmMs } };
      await commitWindow(database, commit as WindowCommit);
      requests += 1;
    }
    if (windows.length > 0) continue;
    waits += 1;
    atMs += emptyConfirmMs;
  }
  return requests;
}

describeNeeding('plainPostgres', 'a source that silently caps its answers', () => {
  const caps = fc.record({
    // Around the sizes where a cap omits only a few rows, and any smaller size.
    rows: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 125 })),
    keeps: fc.constantFrom('oldest' as const, 'newest' as const),
  });
  const cases = fc.record({
    cap: caps,
    // Days in which the simulator has outages, and the first days of the year.
    startMs: fc.nat(40 * 24 * 60).map((minute) => Date.UTC(2024, 0, 1) + minute * minuteMs),
    lengthMs: fc.integer({ min: 20, max: 6 * 60 }).map((minutes) => minutes * minuteMs),
    spanMs: fc.constantFrom(hourMs, 2 * hourMs),
  });

  test('loses nothing, for any cap and any choice of rows', async () => {
    const { database } = await openOwnStore('plain');
    let place = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ cap, startMs, lengthMs, spanMs }) => {
        await database.pool.query(
          'truncate tidemark.candle_points, tidemark.asset_history_points, tidemark.series cascade',
        );
        // One at a time and all together: answers of other series are witnesses for one another.
        place += 1;
        const chosen = place % 3 === 0 ? lines : lines.slice(place % 4, (place % 4) + 1);
        const range = { startMs, endMs: startMs + lengthMs };
        const ids: number[] = [];
        for (const series of chosen) {
          ids.push((await trackSeries(database, series, range.startMs, range.endMs)).seriesId);
        }
        await fill(database, ids, spanMs, cap);
        for (const [at, series] of chosen.entries()) {
          expect(await storedPoints(database, series)).toEqual(rowsOf(series, range));
          expect(await coverageOf(database, ids[at] ?? 0)).toEqual([range]);
        }
        expect(await listGaps(database, { nowMs, graceMs })).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });
});
