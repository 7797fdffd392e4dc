import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clip, lengthMs, normalize, type Range, subtract } from '../../model/ranges.ts';

const range = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20 }))
  .map(([startMs, length]): Range => ({ startMs, endMs: startMs + length }));
const ranges = fc.array(range, { maxLength: 8 });

/** The naive model: a range is the set of the milliseconds in it. */
function members(list: readonly Range[]): Set<number> {
  const set = new Set<number>();
  for (const { startMs, endMs } of list) for (let ms = startMs; ms < endMs; ms++) set.add(ms);
  return set;
}

function expectTidy(list: readonly Range[]): void {
  for (const [index, { startMs, endMs }] of list.entries()) {
    expect(startMs).toBeLessThan(endMs);
    const before = list[index - 1];
    if (before) expect(before.endMs).toBeLessThan(startMs);
  }
}

describe('range arithmetic agrees with sets of milliseconds', () => {
  it('normalize keeps the members, sorted and disjoint', () => {
    fc.assert(
      fc.property(ranges, (list) => {
        const result = normalize(list);
        expectTidy(result);
        expect(members(result)).toEqual(members(list));
        expect(lengthMs(result)).toBe(members(list).size);
      }),
    );
  });

  it('subtract', () => {
    fc.assert(
      fc.property(ranges, ranges, (list, minus) => {
        const result = subtract(list, minus);
        expectTidy(result);
        const removed = members(minus);
        expect(members(result)).toEqual(new Set([...members(list)].filter((ms) => !removed.has(ms))));
      }),
    );
  });

  it('clip', () => {
    fc.assert(
      fc.property(ranges, range, (list, bounds) => {
        const result = clip(list, bounds);
        expectTidy(result);
        const within = members([bounds]);
        expect(members(result)).toEqual(new Set([...members(list)].filter((ms) => within.has(ms))));
      }),
    );
  });
});
