import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shadesOf, worstStateIn } from '../../dashboard/page/series/chart-piece.ts';
import type { Band } from '../../dashboard/shapes.ts';

const columns = 20;
const ranges = fc
  .uniqueArray(fc.integer({ min: 0, max: columns }), { maxLength: 6 })
  .map((places) => places.sort((one, other) => one - other))
  .map((places) => places.slice(0, places.length - (places.length % 2)));

function has(pairs: readonly number[], column: number): boolean {
  return pairs.some((from, at) => at % 2 === 0 && from <= column && column < (pairs[at + 1] ?? 0));
}

it('finds the most severe state of a time', () => {
  fc.assert(
    fc.property(ranges, ranges, ranges, (empty, gap, failed) => {
      const layers = { tracked: [0, columns], covered: [], empty, gap, failed, queued: [], active: [] };
      const band: Band = { id: 1, startMs: 1000, endMs: 1000 + columns * 60, columns, layers };
      const shades = shadesOf(band);
      const stateAt = (startMs: number) => worstStateIn(shades, { startMs, endMs: startMs + 1 });
      for (let column = 0; column < columns; column += 1) {
        const expected = has(failed, column)
          ? 'failed'
          : has(gap, column)
            ? 'gap'
            : has(empty, column)
              ? 'empty'
              : null;
        expect(stateAt(1000 + column * 60)).toBe(expected);
        expect(stateAt(1000 + column * 60 + 59)).toBe(expected);
      }
    }),
  );
});
