import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { lengthMs, normalize } from '../../model/ranges.ts';
import { longestRange } from '../../model/request-range.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { Window } from '../../model/window.ts';
import { rereadSlots } from '../../planning/budget.ts';
import { planRereads } from '../../planning/reread.ts';

const roundMs = Date.UTC(2024, 5, 15);
const minutes: SeriesKey = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'm1' };
const trailing = { startMs: roundMs - 3 * dayMs, endMs: roundMs };
const due = (ids: readonly number[]) => ids.map((seriesId) => ({ seriesId, series: minutes, ranges: [trailing] }));

describe('planRereads', () => {
  it('reads every range once, in passes of any size, with any other claims', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 5 }), (most, count) => {
        const ids = Array.from({ length: count }, (_, index) => index + 1);
        const taken: Window[] = [];
        // A refresh over the end of the range does not prevent its reread.
        const refresh = { startMs: roundMs - minuteMs, endMs: roundMs + hourMs, lane: 'refresh' as const };
        for (;;) {
          const claimed = new Map(ids.map((id) => [id, [refresh, ...taken.filter(({ seriesId }) => seriesId === id)]]));
          const pass = planRereads({
            source: 'x',
            due: due(ids),
            claimed,
            longestRangeMs: longestRange,
            roundMs,
            most,
          });
          expect(pass.length).toBeLessThanOrEqual(most);
          if (pass.length === 0) break;
          taken.push(...pass);
        }
        for (const id of ids) {
          const own = taken.filter(({ seriesId }) => seriesId === id);
          expect(own.every((window) => window.lane === 'reread' && window.roundMs === roundMs)).toBe(true);
          expect(own).toHaveLength(3);
          expect(lengthMs(normalize(own))).toBe(3 * dayMs);
        }
      }),
    );
  });

  it('takes the first window of each series before the second of any', () => {
    const windows = planRereads({
      source: 'x',
      due: due([4, 5, 6]),
      claimed: new Map(),
      longestRangeMs: longestRange,
      roundMs,
      most: 4,
    });
    expect(windows.map(({ seriesId }) => seriesId)).toEqual([4, 5, 6, 4]);
  });
});

it("a reread has a twentieth of the queue's capacity, minus the queued rereads, and at least one in total", () => {
  expect(rereadSlots({ requestsPerMinute: 500, queued: 0 })).toBe(25);
  expect(rereadSlots({ requestsPerMinute: 500, queued: 24 })).toBe(1);
  expect(rereadSlots({ requestsPerMinute: 500, queued: 40 })).toBe(0);
  expect(rereadSlots({ requestsPerMinute: 1, queued: 0 })).toBe(1);
  expect(rereadSlots({ requestsPerMinute: 0, queued: 0 })).toBe(50);
});
