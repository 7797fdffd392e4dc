import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { longestRange } from '../../model/request-range.ts';
import type { SeriesKey } from '../../model/series.ts';
import { commandSlots, requestsBetween } from '../../planning/budget.ts';
import { allWindows, type CoveredSeries, countWindows, sampleWindows, windowsAround } from '../../planning/sample.ts';

const minutes: SeriesKey = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'm1' };
const hours: SeriesKey = { dataset: 'asset_history', assetId: 'a', interval: 'h1' };

const covered = fc
  .array(fc.array(fc.integer({ min: 1, max: 60 * 24 * 40 }), { maxLength: 8 }), { maxLength: 5 })
  .map((lists) =>
    lists.map((lengths, index): CoveredSeries => {
      const series = index % 2 === 0 ? minutes : hours;
      let endMs = 0;
      // Adjacent lengths alternate between covered and not covered.
      const ranges = lengths.flatMap((length, place) => {
        const startMs = endMs;
        endMs += length * (series === minutes ? minuteMs : hourMs);
        return place % 2 === 0 ? [{ startMs, endMs }] : [];
      });
      return { seriesId: index + 1, series, ranges };
    }),
  );

describe('sampleWindows', () => {
  it('draws the requested number of windows without repetition, each from the list', () => {
    fc.assert(
      fc.property(
        covered,
        fc.nat(80),
        fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
        (list, count, stream) => {
          const random = () => Number(stream.next().value);
          const all = [...allWindows(list, longestRange)];
          expect(countWindows(list, longestRange)).toBe(all.length);
          const drawn = [...sampleWindows(list, longestRange, count, random)];
          expect(drawn).toHaveLength(Math.min(count, all.length));
          const keys = all.map((window) => JSON.stringify(window));
          const places = drawn.map((window) => keys.indexOf(JSON.stringify(window)));
          expect(places).not.toContain(-1);
          expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
        },
      ),
    );
  });

  it('draws every window as often as any other', () => {
    // Two of five, with every pair of draws that the algorithm distinguishes once.
    const list = [{ seriesId: 1, series: minutes, ranges: [{ startMs: 0, endMs: 5 * dayMs }] }];
    const seen = new Map<number, number>();
    for (let first = 0; first < 4; first += 1) {
      for (let second = 0; second < 5; second += 1) {
        const draws = [(first + 0.5) / 4, (second + 0.5) / 5];
        for (const { startMs } of sampleWindows(list, longestRange, 2, () => draws.shift() ?? 0)) {
          seen.set(startMs, (seen.get(startMs) ?? 0) + 1);
        }
      }
    }
    expect([...seen.values()]).toEqual([8, 8, 8, 8, 8]);
  });
});

it('surrounds every period with windows within the maximum range, and with no more windows than necessary', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(5000), { minLength: 1, maxLength: 60 }), (periods) => {
      const timesMs = periods.map((period) => period * minuteMs).sort((a, b) => a - b);
      const windows = windowsAround(timesMs, minuteMs, dayMs);
      for (const timeMs of timesMs) {
        expect(windows.filter(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs)).toHaveLength(1);
      }
      for (const { startMs, endMs } of windows) {
        expect(endMs - startMs).toBeLessThanOrEqual(dayMs);
        expect(timesMs).toContain(startMs);
        expect(timesMs).toContain(endMs - minuteMs);
      }
      // The first period of each window does not fit into the window before.
      for (const [place, { startMs }] of windows.entries()) {
        const before = windows[place - 1];
        if (before !== undefined) expect(startMs + minuteMs - before.startMs).toBeGreaterThan(dayMs);
      }
    }),
  );
});

it('leaves a tenth of a minute to all commands together', () => {
  expect(commandSlots({ requestsPerMinute: 500, queued: 0 })).toBe(50);
  expect(commandSlots({ requestsPerMinute: 500, queued: 60 })).toBe(0);
  expect(commandSlots({ requestsPerMinute: 1, queued: 0 })).toBe(1);
  expect(commandSlots({ requestsPerMinute: 0, queued: 0 })).toBe(100);
});

it('puts a minute of a backfill between two shares of a command, as long as its backlog lasts', () => {
  const between = (requests: number, backlog = 5000) => requestsBetween(requests, backlog, 500);
  expect([0, 1, 50].map((requests) => between(requests))).toEqual([0, 0, 0]);
  expect([51, 100, 101].map((requests) => between(requests))).toEqual([500, 500, 1000]);
  expect(between(100_000)).toBe(5000);
  expect(between(100_000, 0)).toBe(0);
});
