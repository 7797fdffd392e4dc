import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candles } from '../../model/datasets/candles.ts';
import { minuteMs } from '../../model/intervals.ts';
import { lengthMs, normalize } from '../../model/ranges.ts';
import { proofBy } from '../../planning/proof.ts';
import { evaluateAnswer } from '../../planning/verdict.ts';

const startMs = Date.UTC(2024, 0, 1);
const minute = (index: number) => startMs + index * minuteMs;
const window = { startMs, endMs: minute(100) };
const later = minute(100_000);

function shownBy(indexes: readonly number[]) {
  const [first] = indexes;
  return first === undefined ? null : { firstMs: minute(first), lastMs: minute(indexes.at(-1) ?? first) };
}
function judged(indexes: readonly number[], more: Partial<Parameters<typeof evaluateAnswer>[0]> = {}) {
  return evaluateAnswer({
    window,
    interval: 'm1',
    proof: proofBy(candles.time, 'm1'),
    timesMs: indexes.map(minute),
    shown: shownBy(indexes),
    contradicted: { atStart: false, atEnd: false },
    rejected: 0,
    rejectedPeriods: more.rejected ?? 0,
    outOfRangeRows: 0,
    rows: indexes.length + (more.rejected ?? 0) + (more.outOfRangeRows ?? 0),
    maxRows: 0,
    isNewest: false,
    closedUpToMs: later,
    answeredUpToMs: later,
    ...more,
  });
}
/** Verdict and coverage alone. */
function verdict(...words: Parameters<typeof judged>) {
  const { verdict, covered } = judged(...words);
  return { verdict, covered };
}
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('evaluateAnswer', () => {
  it('covers only the points of a dense, capped answer, for any cap', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 98 }), (cap) => {
        expect(verdict(upTo(cap))).toEqual({ verdict: 'cut_short', covered: { startMs, endMs: minute(cap) } });
      }),
    );
  });

  it('covers only the points of an answer whose cap took the oldest', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99 }), (cap) => {
        expect(judged(upTo(100).slice(-cap))).toMatchObject({
          verdict: 'cut_short',
          covered: { startMs: minute(100 - cap), endMs: window.endMs },
          rest: [{ startMs, endMs: minute(100 - cap) }],
        });
      }),
    );
  });

  it('covers no unbounded silence of a dense market, however large other answers were', () => {
    for (const maxRows of [0, 85, 86, 1440]) {
      expect(judged(upTo(85), { maxRows })).toMatchObject({
        verdict: 'cut_short',
        covered: { startMs, endMs: minute(85) },
        isUnbounded: false,
      });
      expect(verdict(upTo(100).slice(15), { maxRows })).toEqual({
        verdict: 'cut_short',
        covered: { startMs: minute(15), endMs: window.endMs },
      });
    }
    // One long outage among the points, or a few quiet minutes, do not make a thin market.
    expect(verdict([...upTo(30), ...upTo(95).slice(75)], { maxRows: 1440 }).verdict).toBe('cut_short');
  });

  it('accepts a witness on the other side as proof of a silence', () => {
    const witnessed = (from: number, to: number) => ({ firstMs: minute(from), lastMs: minute(to) });
    expect(verdict(upTo(85), { shown: witnessed(0, 100) })).toEqual({ verdict: 'filled', covered: window });
    expect(verdict(upTo(100).slice(15), { shown: witnessed(-1, 99) }).verdict).toBe('filled');
    expect(verdict(upTo(60).slice(15), { shown: witnessed(-1, 100) }).verdict).toBe('filled');
    // No point of its own, and one on either side: there were no trades.
    for (const rejected of [0, 1])
      expect(verdict([], { shown: witnessed(-1, 100), rows: 2 + rejected, rejected })).toEqual({
        verdict: 'filled',
        covered: window,
      });
    for (const shown of [witnessed(-1, -1), witnessed(100, 100)]) {
      expect(judged([], { shown, rows: 1, maxRows: 1440 })).toMatchObject({
        verdict: 'cut_short',
        covered: null,
        rest: [window],
        isContradicted: false,
      });
    }
  });

  it('is truncated when a stored point at its edge is missing', () => {
    const thin = { maxRows: 1440 };
    const some = upTo(100).filter((index) => index % 4 === 0);
    expect(judged(some, thin)).toMatchObject({ verdict: 'filled', isUnbounded: true });
    expect(judged(some, { ...thin, contradicted: { atStart: false, atEnd: true } })).toMatchObject({
      verdict: 'cut_short',
      covered: { startMs, endMs: minute(97) },
      isUnbounded: false,
      isContradicted: true,
    });
    expect(judged([], { contradicted: { atStart: true, atEnd: false } })).toMatchObject({
      verdict: 'cut_short',
      covered: null,
      isContradicted: true,
    });
  });

  it('names the rest of a capped answer, up to the last closed period', () => {
    const { rest } = judged(upTo(20), { closedUpToMs: minute(50), answeredUpToMs: minute(60) });
    expect(rest).toEqual([{ startMs: minute(20), endMs: minute(50) }]);
    expect(judged(upTo(100)).rest).toEqual([]);
  });

  it('covers a silence at the edge of a thin market when pauses of that length occur throughout', () => {
    const thin = upTo(95).filter((index) => index % 10 < 4);
    const more = { maxRows: thin.length + 1 };
    expect(judged(thin, more)).toMatchObject({ verdict: 'filled', covered: window, isUnbounded: true });
    expect(verdict(thin, { maxRows: thin.length }).verdict).toBe('cut_short');
    const shorter = thin.filter((index) => index < 90);
    expect(verdict(shorter, { maxRows: 1440 })).toEqual({
      verdict: 'cut_short',
      covered: { startMs, endMs: minute(84) },
    });
  });

  it('counts unreadable rows: an answer with one for every period was not truncated', () => {
    const some = upTo(99).slice(1);
    expect(verdict(some, { rejected: 2 })).toEqual({ verdict: 'filled', covered: window });
    expect(verdict(some, { rejected: 1 })).toMatchObject({ verdict: 'cut_short' });
    // Rows outside the window belong to none of its periods.
    expect(verdict(some, { outOfRangeRows: 2 })).toMatchObject({ verdict: 'cut_short' });
    expect(judged([], { outOfRangeRows: 2 })).toMatchObject({ verdict: 'unreadable', covered: null });
    expect(judged([], { rejected: 1 })).toMatchObject({ verdict: 'unreadable', covered: null });
  });

  it('covers at least one period of any answer, and leaves the rest', () => {
    const indexes = fc.uniqueArray(fc.nat(99), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(indexes, fc.boolean(), fc.nat(100), (some, isNewest, maxRows) => {
        const points = some.sort((a, b) => a - b);
        const { covered, rest } = judged(points, { isNewest, maxRows });
        expect(lengthMs(covered === null ? [] : [covered])).toBeGreaterThanOrEqual(minuteMs);
        expect(normalize([...rest, ...(covered === null ? [] : [covered])])).toEqual([window]);
      }),
    );
  });

  it('covers two hours of silence at the end of the newest data, which the next refresh reads again', () => {
    const day = { startMs, endMs: minute(1440) };
    const words = { window: day, maxRows: 1440, isNewest: true };
    expect(judged(upTo(1340), words)).toMatchObject({ verdict: 'filled', covered: day, isUnbounded: true });
    expect(verdict(upTo(1340), { ...words, isNewest: false }).verdict).toBe('cut_short');
    expect(verdict(upTo(1340), { ...words, maxRows: 1340 }).verdict).toBe('cut_short');
    expect(verdict(upTo(1300), words)).toEqual({ verdict: 'cut_short', covered: { startMs, endMs: minute(1300) } });
    // A silence at the start is not explained by delay.
    expect(verdict(upTo(1440).slice(100), words).verdict).toBe('cut_short');
  });

  it('counts periods and not rows: several points of one period, or several bad rows, prove no other', () => {
    const half = upTo(100).slice(0, 50);
    const twice = half.flatMap((index) => [minute(index), minute(index) + 30_000]);
    const words = { timesMs: twice, shown: { firstMs: startMs, lastMs: minute(49) + 30_000 }, rows: 100 };
    expect(judged([], words)).toMatchObject({ verdict: 'cut_short', covered: { startMs, endMs: minute(50) } });
    expect(verdict(half, { rejected: 50, rejectedPeriods: 0 }).verdict).toBe('cut_short');
  });

  it('does not treat a market as thin because of one pause in a small answer', () => {
    const outage = [...upTo(9), ...upTo(33).slice(24)];
    expect(verdict(outage, { maxRows: 1440, window: { startMs, endMs: minute(45) } })).toEqual({
      verdict: 'cut_short',
      covered: { startMs, endMs: minute(33) },
    });
  });

  it('covers no point that a cap took, whatever is left of an answer, as long as the market is not thin', () => {
    // Points and pauses in turn: at most one pause in 25 points.
    const market = fc
      .array(fc.record({ points: fc.integer({ min: 25, max: 40 }), pause: fc.integer({ min: 1, max: 30 }) }), {
        minLength: 2,
        maxLength: 5,
      })
      .map((runs) => {
        const indexes: number[] = [];
        let index = -3;
        for (const { points, pause } of runs) {
          for (let count = 0; count < points; count += 1) indexes.push(index++);
          index += pause;
        }
        return indexes;
      });
    const anyCut = fc.record({
      ...{ rows: fc.integer({ min: 1, max: 120 }), keepsNewest: fc.boolean(), beside: fc.boolean() },
      maxRows: fc.nat(200),
      isNewest: fc.constant(false),
    });
    fc.assert(
      fc.property(market, anyCut, (indexes, { rows, keepsNewest, beside, maxRows, isNewest }) => {
        const asked = beside ? { from: -1, to: 101 } : { from: 0, to: 100 };
        const there = indexes.filter((index) => index >= asked.from && index < asked.to);
        const given = keepsNewest ? there.slice(-rows) : there.slice(0, rows);
        const within = given.filter((index) => index >= 0 && index < 100);
        const { covered } = judged(within, { shown: shownBy(given), rows: given.length, maxRows, isNewest });
        const lost = there.filter((index) => {
          const timeMs = minute(index);
          return covered !== null && timeMs >= covered.startMs && timeMs < covered.endMs && !given.includes(index);
        });
        if (given.length > 0) expect(lost).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it('does not treat an empty answer as a verdict', () => {
    expect(verdict([])).toEqual({ verdict: 'empty', covered: window });
  });

  it('covers no further than the last closed period', () => {
    expect(verdict(upTo(51), { closedUpToMs: minute(50), answeredUpToMs: minute(50) })).toEqual({
      verdict: 'filled',
      covered: { startMs, endMs: minute(50) },
    });
    expect(verdict([0], { closedUpToMs: startMs, answeredUpToMs: startMs })).toEqual({
      verdict: 'filled',
      covered: null,
    });
  });

  it('covers no further than the time of the source, so that a stale copy covers less', () => {
    expect(verdict(upTo(30), { answeredUpToMs: minute(30) })).toEqual({
      verdict: 'filled',
      covered: { startMs, endMs: minute(30) },
    });
    expect(verdict([], { answeredUpToMs: startMs })).toEqual({ verdict: 'stale', covered: null });
    expect(verdict([], { answeredUpToMs: minute(-500) })).toEqual({ verdict: 'stale', covered: null });
  });

  it('never covers outside the window', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(99), { maxLength: 100 }),
        fc.nat(200),
        fc.nat(200),
        (indexes, closed, answered) => {
          const { covered } = verdict(
            indexes.sort((a, b) => a - b),
            { closedUpToMs: minute(closed), answeredUpToMs: minute(answered) },
          );
          if (covered === null) return;
          expect(covered.startMs).toBeGreaterThanOrEqual(startMs);
          expect(covered.endMs).toBeLessThanOrEqual(Math.min(window.endMs, minute(closed), minute(answered)));
        },
      ),
    );
  });
});
