import fc from 'fast-check';
import { expect, it } from 'vitest';
import { normalize } from '../../../model/ranges.ts';
import { fewRanges, maxMissing, readCursors, writeCursors } from '../../../service/stream/cursor.ts';

const ranges = fc
  .array(fc.tuple(fc.nat(1e12), fc.integer({ min: 1, max: 1e9 })), { maxLength: 60 })
  .map((all) => normalize(all.map(([startMs, length]) => ({ startMs, endMs: startMs + length }))));

it('reads the cursors that it wrote', () => {
  fc.assert(
    fc.property(fc.array(ranges, { minLength: 1, maxLength: 5 }), (all) => {
      const cursors = all.map((missing) => ({ untilMs: 2e12, missing: fewRanges(missing) }));
      const names = all.map((_, place) => `binance coin-${place}/tether m1`);
      const text = writeCursors(names, cursors);
      expect(text).toMatch(/^[\w.-]+$/);
      expect(readCursors(names, text)).toEqual(cursors);
      // The id of another list of as many series, or in another order.
      expect(readCursors([...names.slice(1), 'rates'], text)).toBeNull();
      expect(readCursors([...names, 'rates'], text)).toBeNull();
      if (names.length > 1) expect(readCursors(names.toReversed(), text)).toBeNull();
    }),
  );
});

it('joins the nearest ranges, and loses none', () => {
  fc.assert(
    fc.property(ranges, (all) => {
      const few = fewRanges(all);
      expect(few.length).toBeLessThanOrEqual(maxMissing);
      if (all.length <= maxMissing) expect(few).toEqual(all);
      for (const { startMs, endMs } of all)
        expect(few.some((range) => range.startMs <= startMs && endMs <= range.endMs)).toBe(true);
    }),
  );
});

it.each(['', 'x y', '1_2', '10_1-2', '10_5-1_4-3-', 'zzzzzzzzzzzz', '-1', '1..2', '10_2-5', `1${'_5-1'.repeat(40)}`])(
  'refuses what is no cursor: %s',
  (text) => {
    const names = text.split('.');
    const [digest = ''] = writeCursors(names, []).split('.');
    expect(readCursors(names, `${digest}.${text}`)).toBeNull();
    expect(readCursors(names, text)).toBeNull();
  },
);
