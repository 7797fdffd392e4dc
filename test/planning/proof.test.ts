import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fundingRates } from '../../model/datasets/funding-rates.ts';
import { hourMs } from '../../model/intervals.ts';
import { lengthMs, normalize, overlaps, type Range } from '../../model/ranges.ts';
import { type LinkedPoint, proofBy } from '../../planning/proof.ts';
import { evaluateAnswer } from '../../planning/verdict.ts';

const startMs = Date.UTC(2024, 0, 1);
const hour = (index: number) => startMs + index * hourMs;
const hours = (from: number, to: number): Range => ({ startMs: hour(from), endMs: hour(to) });
const every = proofBy({ density: 'every' }, 'h1');
const linked = proofBy(fundingRates.time, 'h1');
const event = (index: number, link: number | null = null): LinkedPoint => ({
  timeMs: hour(index),
  linkMs: link === null ? null : link * hourMs,
});

/** What an answer to the hours 0 to 24 proves. @param points those of the window, or beside it. */
function judged(proof: typeof every, points: readonly LinkedPoint[], closed = 1000) {
  const timesMs = points.map(({ timeMs }) => timeMs);
  const [firstMs, lastMs] = [timesMs[0] ?? 0, timesMs.at(-1) ?? 0];
  const { verdict, covered, isUnbounded } = evaluateAnswer({
    ...{ window: hours(0, 24), interval: 'h1', proof },
    timesMs: timesMs.filter((timeMs) => timeMs >= startMs && timeMs < hour(24)),
    shown: { firstMs, lastMs },
    links: { firstMs: points[0]?.linkMs ?? null, lastMs: points.at(-1)?.linkMs ?? null },
    contradicted: { atStart: false, atEnd: false },
    ...{ rejected: 0, rejectedPeriods: 0, outOfRangeRows: 0, rows: points.length, maxRows: 1000, isNewest: true },
    ...{ closedUpToMs: hour(closed), answeredUpToMs: hour(closed) },
  });
  const [from, to] = [covered?.startMs, covered?.endMs].map((timeMs) => ((timeMs ?? startMs) - startMs) / hourMs);
  return `${verdict} ${from}-${to}${isUnbounded ? ' unbounded' : ''}`;
}

describe('a dataset with a point in every period', () => {
  it('lacks each period without one between two points, and none of those with one', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { minLength: 2 }), (indexes) => {
        const sorted = [...indexes].sort((a, b) => a - b).map((index) => event(index));
        const missing = sorted.flatMap((after, place) => {
          const before = sorted[place - 1];
          return (before && every.missingBetween(before, after)) ?? [];
        });
        for (const { timeMs } of sorted)
          expect(missing.some((range) => overlaps(range, { startMs: timeMs, endMs: timeMs + hourMs }))).toBe(false);
        const spanMs = (sorted.at(-1)?.timeMs ?? 0) - (sorted[0]?.timeMs ?? 0);
        expect(lengthMs(normalize(missing)) / hourMs).toBe(spanMs / hourMs + 1 - sorted.length);
      }),
    );
  });

  it('has no pause: a silence at an end of an answer stays a gap, however thin the series is', () => {
    expect(
      judged(
        every,
        [0, 8, 16].map((index) => event(index)),
      ),
    ).toBe('cut_short 0-17');
    expect(
      judged(
        every,
        [8, 16, 23].map((index) => event(index)),
      ),
    ).toBe('cut_short 8-24');
    expect(
      judged(
        every,
        [-1, 8, 24].map((index) => event(index)),
      ),
    ).toBe('filled 0-24');
  });
});

describe('a dataset of events that tell how long ago the one before them was', () => {
  it('lacks what two neighbours do not join', () => {
    expect(linked.missingBetween(event(0), event(8, 8))).toBeNull();
    // The interval was shortened, or the source does not tell.
    expect(linked.missingBetween(event(0), event(8, 12))).toBeNull();
    expect(linked.missingBetween(event(0), event(8))).toBeNull();
    expect(linked.missingBetween(event(0), event(16, 8))).toEqual(hours(1, 16));
    expect(linked.missingBetween(event(0), event(8, 4))).toEqual(hours(1, 8));
  });

  it('is proved to the start of a window by the first event, if the one before it is earlier', () => {
    expect(judged(linked, [event(6, 8), event(14, 8), event(22, 8), event(30, 8)])).toBe('filled 0-24');
    // One at hour 0 is missing, or the event does not tell.
    expect(judged(linked, [event(8, 8), event(16, 8), event(24, 8)])).toBe('cut_short 8-24');
    expect(judged(linked, [event(8), event(16), event(24)])).toBe('cut_short 8-24');
    expect(judged(linked, [event(-8), event(0), event(8), event(16), event(24)])).toBe('filled 0-24');
  });

  it('is believed up to the next event, until a later one proves it', () => {
    expect(judged(linked, [event(0, 8), event(8, 8), event(16, 8)])).toBe('filled 0-24');
    expect(judged(linked, [event(0, 8), event(8, 8), event(16, 4)])).toBe('cut_short 0-17');
    expect(judged(linked, [event(0, 8), event(8, 8), event(16, 4)], 20)).toBe('filled 0-20');
    expect(linked.dueAfter(event(16, 4))).toBe(hour(20));
    expect(linked.dueAfter(event(16))).toBeNull();
  });

  it.each([
    ['keeps its interval', [0, 8, 16, 24], [null, 8, 8, 8]],
    ['lacks one event', [0, 8, 24, 32], [null, 8, 8, 8]],
    ['lacks the newest but one: two longer distances would be another interval', [0, 8, 16, 32], [null, 8, 8, 8]],
    ['changes its interval from 8 to 4 to 1 hours', [0, 8, 12, 16, 17, 18], [null, 8, 4, 4, 1, 1]],
    ['and back, at the next full interval', [0, 1, 2, 4, 8, 12, 16, 24, 32], [null, 1, 1, 2, 4, 4, 4, 8, 8]],
    ['lacks one hour of many', [0, 1, 2, 4, 5, 6], [null, 1, 1, 1, 1, 1]],
    ['lacks every second event', [0, 16, 32, 48], [null, 8, 8, 8]],
    ['begins', [0, 8], [null, 8]],
  ] as const)('without stated links, %s', (_, times, links) => {
    const points = linked.withLinks(times.map((index) => event(index)));
    expect(points.map(({ linkMs }) => linkMs && linkMs / hourMs)).toEqual(links);
    // What a source states counts.
    expect(linked.withLinks([event(0), event(8), event(24, 16)])[2]?.linkMs).toBe(16 * hourMs);
  });

  it('is in the period of its time, whatever the milliseconds', () => {
    const late = (index: number, link: number) => ({ timeMs: hour(index) + 7, linkMs: link * hourMs });
    expect(linked.missingBetween(event(0, 8), late(8, 8))).toBeNull();
    expect(linked.missingBetween(late(0, 8), event(8, 8))).toBeNull();
    expect(linked.missingBetween(late(0, 8), late(16, 8))).toEqual(hours(1, 16));
  });
});
