import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { minuteMs } from '../../contract/intervals.ts';
import { lengthMs, normalize } from '../../planning/ranges.ts';
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
    strangers: 0,
    rows: indexes.length + (more.rejected ?? 0) + (more.strangers ?? 0),
    mostRows: 0,
    isNews: false,
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

  it('covers only what a capped answer holds when the cap took the oldest', () => {
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

  it('takes a run shorter than another answer of late for a market that paused', () => {
    expect(verdict(upTo(85), { mostRows: 86 })).toEqual({ verdict: 'filled', covered: window });
    expect(verdict(upTo(85), { mostRows: 85 }).verdict).toBe('cut_short');
    expect(verdict(upTo(100).slice(15), { mostRows: 86 })).toEqual({ verdict: 'filled', covered: window });
  });

  it('names what a capped answer leaves, up to the last closed period', () => {
    const { rest } = judged(upTo(20), { closedUpToMs: minute(50), answeredUpToMs: minute(60) });
    expect(rest).toEqual([{ startMs: minute(20), endMs: minute(50) }]);
    expect(judged(upTo(100)).rest).toEqual([]);
  });

  it('covers only what a capped answer holds, however long an outage in it', () => {
    const withOutage = [...upTo(30), ...upTo(95).slice(75)];
    expect(verdict(withOutage)).toEqual({ verdict: 'cut_short', covered: { startMs, endMs: minute(95) } });
    const inTheMiddle = upTo(70).slice(50);
    expect(judged(inTheMiddle)).toMatchObject({
      covered: { startMs: minute(50), endMs: minute(70) },
      rest: [
        { startMs, endMs: minute(50) },
        { startMs: minute(70), endMs: window.endMs },
      ],
    });
    expect(verdict([7, 50, 98])).toEqual({
      verdict: 'cut_short',
      covered: { startMs: minute(7), endMs: minute(99) },
    });
  });

  it('takes holes throughout for a thin market and covers the window', () => {
    expect(verdict([0, 1, 3, 40, 99])).toEqual({ verdict: 'filled', covered: window });
    expect(verdict([7, 50, 98], { mostRows: 4 })).toEqual({ verdict: 'filled', covered: window });
  });

  it('counts rows that cannot be read: an answer with one for every period was not capped', () => {
    const some = upTo(99).slice(1);
    expect(verdict(some, { rejected: 2 })).toEqual({ verdict: 'filled', covered: window });
    expect(verdict(some, { rejected: 1 })).toMatchObject({ verdict: 'cut_short' });
    expect(verdict(some, { rejected: 1, mostRows: 100 })).toMatchObject({ verdict: 'filled' });
    // Beside the window there are none of its periods.
    expect(verdict(some, { strangers: 2 })).toMatchObject({ verdict: 'cut_short' });
    expect(judged([], { strangers: 2 })).toMatchObject({ verdict: 'unreadable', covered: null });
    expect(judged([], { rejected: 1 })).toMatchObject({ verdict: 'unreadable', covered: null });
  });

  it('asks for the point beside a silence again when the answer brought news, and covers a period at least', () => {
    const news = { isNews: true };
    expect(verdict(upTo(20), news).covered).toEqual({ startMs, endMs: minute(19) });
    expect(verdict([0], news).covered).toEqual({ startMs, endMs: minute(1) });
    expect(verdict([50, 60, 70], news).covered).toEqual({ startMs: minute(51), endMs: minute(70) });
    expect(verdict([50, 51], news).covered).toEqual({ startMs: minute(50), endMs: minute(51) });
    expect(verdict([98, 99], news).covered).toEqual({ startMs: minute(99), endMs: window.endMs });
    expect(verdict([50], news).covered).toEqual({ startMs: minute(50), endMs: minute(51) });
  });

  it('covers a period whatever the answer, and leaves the rest', () => {
    const indexes = fc.uniqueArray(fc.nat(99), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(indexes, fc.boolean(), fc.nat(100), (some, isNews, mostRows) => {
        const points = some.sort((a, b) => a - b);
        const { covered, rest } = judged(points, { isNews, mostRows });
        expect(lengthMs(covered === null ? [] : [covered])).toBeGreaterThanOrEqual(minuteMs);
        expect(normalize([...rest, ...(covered === null ? [] : [covered])])).toEqual([window]);
      }),
    );
  });

  it('does not believe hours of silence at once, however large other answers were', () => {
    const day = { startMs, endMs: minute(1440) };
    const words = { window: day, mostRows: 1440, isNews: true };
    expect(verdict(upTo(1300), words)).toMatchObject({
      verdict: 'cut_short',
      covered: { endMs: minute(1299) },
    });
    expect(verdict(upTo(1340), words)).toEqual({ verdict: 'filled', covered: day });
    // A market that pauses so long between two trades may well do so at the end.
    expect(verdict([...upTo(1000), 1200], words).verdict).toBe('cut_short');
    expect(verdict([...upTo(1000), 1250], words).verdict).toBe('filled');
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
          expect(covered.startMs).toBeGreaterThanOrEqual(startMs);
          expect(covered.endMs).toBeLessThanOrEqual(Math.min(window.endMs, minute(closed), minute(answered)));
        },
      ),
    );
  });
});
