import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freeSlots, limiterFor } from '../../planning/budget.ts';

describe('limiterFor', () => {
  it('never lets more requests into a minute than the budget', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60_000 }), (perMinute) => {
        const limiter = limiterFor(perMinute);
        expect(limiter?.max).toBe(1);
        expect(60_000 / (limiter?.durationMs ?? 0)).toBeLessThanOrEqual(perMinute);
      }),
    );
  });

  it('is absent for a source without a limit', () => {
    expect(limiterFor(0)).toBeNull();
  });
});

describe('freeSlots', () => {
  const load = fc.record({ refresh: fc.nat(700), backfill: fc.nat(700) });
  it('holds the queue at a minute of budget and leaves backfill its share', () => {
    fc.assert(
      fc.property(load, fc.nat(500), fc.integer({ min: 1, max: 500 }), (queued, started, perMinute) => {
        const slots = freeSlots({
          requestsPerMinute: perMinute,
          backfillShare: 0.2,
          queued,
          refreshesStarted: started,
        });
        expect(queued.refresh + queued.backfill + slots.total).toBeLessThanOrEqual(
          Math.max(perMinute, queued.refresh + queued.backfill),
        );
        if (slots.refresh > 0) {
          // Whatever is let in, refreshes started and waiting leave a fifth of the minute to backfill.
          expect(started + queued.refresh + slots.refresh).toBeLessThanOrEqual(
            perMinute - Math.ceil(perMinute * 0.2),
          );
        }
      }),
    );
  });
});
