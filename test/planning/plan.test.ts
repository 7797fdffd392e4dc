import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayMs, intervalMs, minuteMs, periodStart } from '../../model/intervals.ts';
import { lengthMs, normalize, overlaps, type Range, subtract } from '../../model/ranges.ts';
import { longestRange, requestsFor } from '../../model/request-range.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { Window } from '../../model/window.ts';
import { closedUpTo, newestEnd } from '../../planning/periods.ts';
import { countWindows, planWindows, type SeriesGaps } from '../../planning/plan.ts';

const nowMs = Date.UTC(2024, 5, 15, 12, 34, 56);
const graceMs = minuteMs;
const btc: SeriesKey = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'm1',
};

function series(seriesId: number, gaps: Range[], more: Partial<SeriesGaps> = {}): SeriesGaps {
  return {
    seriesId,
    series: btc,
    gaps,
    closedUpToMs: closedUpTo(btc, nowMs, graceMs),
    trackedFromMs: gaps[0]?.startMs ?? 0,
    newestMs: null,
    reachesNow: true,
    refreshDue: false,
    ...more,
  };
}

const plenty = { total: 1e6, refresh: 1e6 };

const rules = { nowMs, graceMs, longestRangeMs: longestRange };

function plan(list: SeriesGaps[], more: Partial<Parameters<typeof planWindows>[0]> = {}) {
  return planWindows({ ...rules, source: 'x', series: list, claimed: new Map(), slots: plenty, cursor: 0, ...more });
}

function claims(windows: readonly Window[]): Map<number, Range[]> {
  const map = new Map<number, Range[]>();
  for (const window of windows) map.set(window.seriesId, [...(map.get(window.seriesId) ?? []), window]);
  return map;
}

const gapsUpToNow = fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 9 }).map((minutes) => {
  // Lengths back from the last closed period, alternately missing and covered.
  let endMs = closedUpTo(btc, nowMs, graceMs);
  const gaps: Range[] = [];
  for (const [index, length] of minutes.entries()) {
    const startMs = endMs - length * minuteMs;
    if (index % 2 === 0) gaps.unshift({ startMs, endMs });
    endMs = startMs;
  }
  return gaps;
});

describe('planWindows', () => {
  it('tiles the gaps: every gap is covered, windows never overlap, and none exceeds the maximum range', () => {
    fc.assert(
      fc.property(gapsUpToNow, fc.boolean(), (gaps, known) => {
        const trackedFromMs = (gaps[0]?.startMs ?? 0) - 5 * dayMs;
        const newestMs = known ? (gaps.at(-1)?.startMs ?? 0) - minuteMs : null;
        const entry = series(1, gaps, { trackedFromMs, newestMs });
        const { windows } = plan([entry]);
        for (const unit of [null, 'month', 'day'] as const) {
          const files = unit === null ? null : { unit, lagMs: 0 };
          expect(countWindows(entry, { ...rules, files })).toBe(plan([entry], { files }).windows.length);
        }
        expect(subtract(gaps, windows)).toEqual([]);
        for (const window of windows) expect(window.endMs - window.startMs).toBeLessThanOrEqual(dayMs);
        const backfill = windows.filter((window) => window.lane === 'backfill');
        // Backfill windows lie in gaps only, and never overlap each other or the refresh.
        expect(subtract(backfill, gaps)).toEqual([]);
        expect(lengthMs(normalize(backfill))).toBe(backfill.reduce((sum, w) => sum + w.endMs - w.startMs, 0));
        const refresh = windows.filter((window) => window.lane === 'refresh');
        expect(refresh).toHaveLength(1);
        for (const window of refresh) {
          expect(window.endMs).toBe(newestEnd(btc, nowMs, graceMs));
          expect(backfill.some((other) => overlaps(other, window))).toBe(false);
        }
      }),
    );
  });

  it('plans exactly the minimum number of requests for one gap', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), (minutes) => {
        const endMs = closedUpTo(btc, nowMs, graceMs);
        const gap = { startMs: endMs - minutes * minuteMs, endMs };
        const asked = { startMs: gap.startMs, endMs: newestEnd(btc, nowMs, graceMs) };
        expect(plan([series(1, [gap])]).windows).toHaveLength(requestsFor(asked, dayMs));
      }),
    );
  });

  it('plans the same windows in several passes as in one, for any room in the queue', () => {
    fc.assert(
      fc.property(gapsUpToNow, gapsUpToNow, fc.integer({ min: 1, max: 7 }), (first, second, room) => {
        const list = [series(1, first), series(2, second)];
        const collected: Window[] = [];
        let cursor = 0;
        for (;;) {
          const slots = { total: room, refresh: room };
          const pass = plan(list, { claimed: claims(collected), slots, cursor });
          if (pass.windows.length === 0) break;
          expect(pass.windows.length).toBeLessThanOrEqual(room);
          collected.push(...pass.windows);
          cursor = pass.cursor;
        }
        const key = (window: Window) => `${window.seriesId} ${window.startMs} ${window.endMs}`;
        expect(collected.map(key).sort()).toEqual(plan(list).windows.map(key).sort());
      }),
    );
  });

  it('plans the newest data first, and reserves room for backfill when refreshes alone would fill the queue', () => {
    const endMs = closedUpTo(btc, nowMs, graceMs);
    const list = Array.from({ length: 10 }, (_, id) => series(id + 1, [{ startMs: endMs - 10 * dayMs, endMs }]));
    const { windows } = plan(list, { slots: { total: 5, refresh: 4 } });
    expect(windows.map((window) => window.lane)).toEqual(['refresh', 'refresh', 'refresh', 'refresh', 'backfill']);
  });

  it('takes turns: no series is served twice before every other was served once', () => {
    const endMs = closedUpTo(btc, nowMs, graceMs) - 20 * dayMs;
    const list = [1, 2, 3, 4].map((id) => series(id, [{ startMs: endMs - 10 * dayMs, endMs }], { reachesNow: false }));
    const served: number[] = [];
    const windows: Window[] = [];
    let cursor = 0;
    for (let pass = 0; pass < 4; pass++) {
      const result = plan(list, { claimed: claims(windows), slots: { ...plenty, total: 3 }, cursor });
      windows.push(...result.windows);
      served.push(...result.windows.map((window) => window.seriesId));
      cursor = result.cursor;
    }
    expect(served).toEqual([1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]);
  });

  it('waits for a claimed tail', () => {
    const endMs = closedUpTo(btc, nowMs, graceMs);
    const list = [series(1, [{ startMs: endMs - 10 * minuteMs, endMs }])];
    const first = plan(list).windows;
    expect(first).toHaveLength(1);
    const later = plan(
      [series(1, [{ startMs: endMs - 10 * minuteMs, endMs: endMs + minuteMs }], { closedUpToMs: endMs + minuteMs })],
      { claimed: claims(first), nowMs: nowMs + minuteMs },
    );
    expect(later.windows).toEqual([]);
  });

  it('refreshes the given number of closed periods, with or without a new one', () => {
    const closedUpToMs = closedUpTo(btc, nowMs, graceMs);
    const quiet = series(1, [], { refreshDue: true, newestMs: closedUpToMs, trackedFromMs: 0 });
    const closed = series(1, [{ startMs: closedUpToMs - minuteMs, endMs: closedUpToMs }], {
      newestMs: closedUpToMs - minuteMs,
      trackedFromMs: 0,
    });
    for (const rereadPeriods of [0, 1, 2, 7]) {
      const start = (of: SeriesGaps) => plan([of], { rereadPeriods }).windows[0]?.startMs;
      expect(start(quiet)).toBe(closedUpToMs - rereadPeriods * minuteMs);
      expect(start(closed)).toBe(closedUpToMs - (1 + rereadPeriods) * minuteMs);
    }
    expect(plan([quiet]).windows[0]?.startMs).toBe(closedUpToMs - 2 * minuteMs);
  });

  it('delays no refresh for a reread, and leaves the slots of rereads free', () => {
    const endMs = closedUpTo(btc, nowMs, graceMs);
    const list = [series(1, [{ startMs: endMs - 10 * dayMs, endMs }])];
    const again = { startMs: endMs - dayMs, endMs: endMs + dayMs, lane: 'reread' as const };
    const slots = { total: 4, refresh: 4 };
    const { windows } = plan(list, { claimed: new Map([[1, [again]]]), slots, reservedSlots: 2 });
    expect(windows.map((window) => window.lane)).toEqual(['refresh', 'backfill']);
  });

  it('never requests an open day of d1 history, which the source does not have', () => {
    const history: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' };
    const closedUpToMs = closedUpTo(history, nowMs, graceMs);
    const { windows } = plan([
      series(1, [{ startMs: closedUpToMs - 3 * dayMs, endMs: closedUpToMs }], { series: history, closedUpToMs }),
    ]);
    expect(windows.map(({ startMs, endMs }) => ({ startMs, endMs }))).toEqual([
      { startMs: closedUpToMs - 3 * dayMs, endMs: closedUpToMs },
    ]);
  });
});

it('the last closed period ends on the grid, at least the grace period in the past, and within one period of it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), fc.integer({ min: 0, max: 3_600_000 }), (now, grace) => {
      for (const interval of ['m1', 'h8', 'd1', 'w1'] as const) {
        const end = closedUpTo({ ...btc, interval }, now, grace);
        expect(end).toBeLessThanOrEqual(now - grace);
        expect(now - grace - end).toBeLessThan(intervalMs[interval]);
        expect(periodStart(end, interval)).toBe(end);
      }
    }),
  );
});
