import fc from 'fast-check';
import { expect, it } from 'vitest';
import { maxPeriods } from '../../dashboard/chart-intervals.ts';
import { nextPiece } from '../../dashboard/page/series/chart-piece.ts';
import { candleIntervals } from '../../model/datasets/candles.ts';
import { intervalMs, isOnGrid, minuteMs, nextPeriodStart, periodStart } from '../../model/intervals.ts';

const latestMs = Date.UTC(2025, 0, 1);

it('requests bounded pieces until any screen is complete', () => {
  fc.assert(
    fc.property(
      fc.record({
        own: fc.constantFrom(...candleIntervals),
        maxBars: fc.integer({ min: 60, max: 500 }),
        lengthMs: fc.integer({ min: 1, max: 11 * 365 * 24 * 60 }).map((minutes) => minutes * minuteMs),
        screens: fc.array(
          fc.record({
            at: fc.double({ min: -0.2, max: 1.2, noNaN: true }),
            share: fc.double({ min: 0.0001, max: 1.2, noNaN: true }),
          }),
          { minLength: 1, maxLength: 5 },
        ),
      }),
      ({ own, maxBars, lengthMs, screens }) => {
        const bounds = { own, maxBars, earliestMs: latestMs - lengthMs, latestMs };
        let held = null as { interval: string; startMs: number; endMs: number } | null;
        for (const { at, share } of screens) {
          const startMs = bounds.earliestMs + at * lengthMs;
          const screen = { startMs, endMs: startMs + Math.max(10 * intervalMs[own], share * lengthMs) };
          for (let asked = 0; ; asked += 1) {
            const piece = nextPiece(screen, held, bounds);
            if (piece === null) break;
            expect(asked).toBeLessThan(20);
            // As the server answers: whole periods.
            const { interval } = piece;
            for (const timeMs of [piece.startMs, piece.endMs]) expect(isOnGrid(timeMs, interval)).toBe(true);
            expect(piece.endMs).toBeGreaterThan(piece.startMs);
            const isHeld = held?.interval === interval && held.startMs <= piece.startMs && piece.endMs <= held.endMs;
            expect(isHeld).toBe(false);
            const got = {
              startMs: periodStart(piece.startMs, interval),
              endMs: nextPeriodStart(piece.endMs, interval),
            };
            const periods = (got.endMs - got.startMs) / intervalMs[interval];
            expect(periods).toBeGreaterThan(0);
            expect(periods).toBeLessThanOrEqual(maxPeriods);
            held =
              held?.interval === interval && got.startMs <= held.endMs && got.endMs >= held.startMs
                ? { interval, startMs: Math.min(held.startMs, got.startMs), endMs: Math.max(held.endMs, got.endMs) }
                : { interval, ...got };
          }
          const wantedFrom = Math.max(screen.startMs, bounds.earliestMs);
          const wantedTo = Math.min(screen.endMs, latestMs);
          if (wantedFrom >= wantedTo) continue;
          expect(held?.startMs).toBeLessThanOrEqual(wantedFrom);
          expect(held?.endMs).toBeGreaterThanOrEqual(wantedTo);
        }
      },
    ),
    { numRuns: 3000 },
  );
});
