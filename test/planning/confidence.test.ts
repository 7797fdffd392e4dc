import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mostDiffering } from '../../planning/confidence.ts';

function choose(n: number, k: number): bigint {
  if (k < 0 || k > n) return 0n;
  let result = 1n;
  for (let step = 1; step <= k; step += 1) result = (result * BigInt(n - k + step)) / BigInt(step);
  return result;
}

/** The definition, in exact arithmetic: the largest count of all with a chance of at least 1 in 20. */
function byDefinition(windows: number, compared: number, differing: number): number {
  let most = -1;
  for (let all = differing; all <= windows - (compared - differing); all += 1) {
    let ways = 0n;
    for (let seen = 0; seen <= differing; seen += 1) {
      ways += choose(all, seen) * choose(windows - all, compared - seen);
    }
    if (ways * 20n >= choose(windows, compared)) most = all;
  }
  return most;
}

const sample = fc
  .integer({ min: 1, max: 60 })
  .chain((windows) =>
    fc
      .integer({ min: 1, max: windows })
      .chain((compared) =>
        fc.tuple(fc.constant(windows), fc.constant(compared), fc.integer({ min: 0, max: compared })),
      ),
  );

describe('mostDiffering', () => {
  it('is the limit by its definition', () => {
    fc.assert(
      fc.property(sample, ([windows, compared, differing]) => {
        expect(mostDiffering({ windows, compared, differing }, 0.95)).toBe(
          byDefinition(windows, compared, differing),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('is what was seen once everything was compared', () => {
    expect(mostDiffering({ windows: 1000, compared: 1000, differing: 0 }, 0.95)).toBe(0);
    expect(mostDiffering({ windows: 1000, compared: 1000, differing: 17 }, 0.95)).toBe(17);
  });

  it('comes to the rule of three where the sample is small against the whole', () => {
    const windows = 10_000_000;
    for (const compared of [30, 100, 300, 3000]) {
      const share = mostDiffering({ windows, compared, differing: 0 }, 0.95) / windows;
      expect(share).toBeLessThan(3 / compared);
      expect(share).toBeGreaterThan(2.9 / (compared + 1));
      expect(share).toBeCloseTo(1 - 0.05 ** (1 / compared), 5);
    }
  });

  it('grows with what differs, and shrinks with the sample', () => {
    const limit = (compared: number, differing: number) =>
      mostDiffering({ windows: 4_000_000, compared, differing }, 0.95);
    expect(limit(100, 1)).toBeGreaterThan(limit(100, 0));
    expect(limit(100, 90)).toBeGreaterThan(limit(100, 89));
    expect(limit(1000, 0)).toBeLessThan(limit(100, 0));
  });

  it('refuses counts that no sample has', () => {
    for (const [windows, compared, differing] of [
      [1, 2, 0],
      [5, 2, 3],
      [5, 2, -1],
    ] as const) {
      expect(() => mostDiffering({ windows, compared, differing }, 0.95)).toThrow(RangeError);
    }
    expect(() => mostDiffering({ windows: 5, compared: 2, differing: 0 }, 1)).toThrow(RangeError);
  });
});
