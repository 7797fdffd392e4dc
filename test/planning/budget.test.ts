import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { budgetInForce, differingBudgets, freeSlots, limiterFor, requestsPerMinuteOf } from '../../planning/budget.ts';

const noLimit = { max: 1e9, durationMs: 1 };

it('never allows more requests in a minute than the budget', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60_000 }), (perMinute) => {
      const { max, durationMs } = limiterFor(perMinute) ?? noLimit;
      // The most that fall into a minute: of those that start together at each of its ends, all.
      const most = max * (Math.floor(60_000 / durationMs) + 1);
      expect(most).toBeLessThanOrEqual(Math.max(perMinute, max));
    }),
  );
});

it.each([
  [20, 2000],
  [600, 5000],
])('leaves room for late starts in a limit of %i in %i ms', (amount, periodMs) => {
  const perMinute = requestsPerMinuteOf([{ amount, periodMs }], 1, null);
  const { max, durationMs } = limiterFor(perMinute) ?? noLimit;
  const most = max * (Math.floor(periodMs / durationMs) + 1);
  expect(most).toBeLessThanOrEqual(amount);
  // One that starts late, at the end of the period before, does not exceed it either.
  if (amount > 1) expect(most + 1).toBeLessThanOrEqual(amount);
  expect((perMinute * periodMs) / 60_000).toBeGreaterThanOrEqual(0.8 * amount);
});

it('uses half of a limit that another source shares, unless a budget is stated', () => {
  const shared = [{ amount: 20, periodMs: 2000, isShared: true }];
  expect([null, 300, 540, 600].map((budget) => requestsPerMinuteOf(shared, 1, budget))).toEqual([270, 300, 540, 540]);
});

describe('budgetInForce', () => {
  const stated = { requestsPerMinute: 200, isBudgetStated: true };
  const unstated = { requestsPerMinute: 200, isBudgetStated: false };

  it('is the lowest of the stated budgets', () => {
    expect(budgetInForce(stated, [500])).toBe(200);
    expect(budgetInForce(stated, [60, 500])).toBe(60);
    expect(budgetInForce(stated, [0])).toBe(200);
  });

  it('is that of the workers for a process that has neither a number nor a key', () => {
    expect(budgetInForce(unstated, [500])).toBe(500);
    expect(budgetInForce(unstated, [0])).toBe(0);
    expect(budgetInForce(unstated, [])).toBe(200);
  });

  it('differs only from stated budgets', () => {
    expect(differingBudgets(unstated, [500])).toBeNull();
    expect(differingBudgets(stated, [500])).toContain('200 requests a minute here, 500 requests a minute');
    expect(differingBudgets(stated, [200])).toBeNull();
  });
});

const load = fc.record({ refresh: fc.nat(700), backfill: fc.nat(700) });
it('limits the queue to a minute of budget and reserves the share of backfill', () => {
  fc.assert(
    fc.property(load, fc.nat(500), fc.integer({ min: 1, max: 500 }), (queued, started, perMinute) => {
      const slots = freeSlots({ requestsPerMinute: perMinute, backfillShare: 0.2, queued, refreshesStarted: started });
      expect(queued.refresh + queued.backfill + slots.total).toBeLessThanOrEqual(
        Math.max(perMinute, queued.refresh + queued.backfill),
      );
      if (slots.refresh > 0) {
        // Whatever is queued, started and waiting refreshes leave a fifth of the minute to backfill.
        expect(started + queued.refresh + slots.refresh).toBeLessThanOrEqual(perMinute - Math.ceil(perMinute * 0.2));
      }
    }),
  );
});
