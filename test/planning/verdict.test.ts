import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { minuteMs } from '../../contract/intervals.ts';
import { judge } from '../../planning/verdict.ts';

const startMs = Date.UTC(2024, 0, 1);
const minute = (index: number) => startMs + index * minuteMs;
const window = { startMs, endMs: minute(100) };
const later = minute(100_000);

function judged(indexes: readonly number[], more: Partial<Parameters<typeof judge>[0]> = {}) {
  return judge({
    window,
    interval: 'm1',
    timesMs: indexes.map(minute),
    rejected: 0,
    mostRows: 0,
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

describe('judge', () => {
  it('covers a full answer', () => {
    expect(verdict(upTo(100))).toEqual({ verdict: 'filled', covered: window });
  });

  it('covers only what a dense, capped answer holds, for any cap', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 98 }), (cap) => {
        expect(verdict(upTo(cap))).toEqual({
          verdict: 'cut_short',
          covered: { startMs, endMs: minute(cap) },
        });
      }),
    );
  });

  it('takes a run shorter than another answer of late for a market that paused', () => {
    expect(verdict(upTo(85), { mostRows: 86 })).toEqual({ verdict: 'filled', covered: window });
    expect(verdict(upTo(85), { mostRows: 85 }).verdict).toBe('cut_short');
  });

  it('names what a capped answer leaves, up to the last closed period', () => {
    const { rest } = judged(upTo(20), { closedUpToMs: minute(50), answeredUpToMs: minute(60) });
    expect(rest).toEqual({ startMs: minute(20), endMs: minute(50) });
    expect(judged(upTo(100)).rest).toBeNull();
  });

  it('covers only what a capped answer holds when there was an outage in it', () => {
    const withOutage = [...upTo(30), ...upTo(70).slice(45)];
    expect(verdict(withOutage)).toEqual({ verdict: 'cut_short', covered: { startMs, endMs: minute(70) } });
    const bornLate = upTo(70).slice(50);
    expect(verdict(bornLate)).toEqual({ verdict: 'cut_short', covered: { startMs, endMs: minute(70) } });
  });

  it('takes holes throughout for a thin market and covers the window', () => {
    expect(verdict([0, 1, 3, 40, 70])).toEqual({ verdict: 'filled', covered: window });
    expect(verdict([7, 50, 98])).toEqual({ verdict: 'filled', covered: window });
  });

  it('forgives one late point at the end', () => {
    expect(verdict(upTo(99))).toEqual({ verdict: 'filled', covered: window });
  });

  it('does not take an empty answer for a verdict', () => {
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

  it('covers no further than the source itself had got to, as a stale copy has not', () => {
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
          expect(covered.startMs).toBe(startMs);
          expect(covered.endMs).toBeLessThanOrEqual(Math.min(window.endMs, minute(closed), minute(answered)));
        },
      ),
    );
  });
});
