import { describe, expect, it } from 'vitest';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { type Beginning, evaluateProbe, holdBack, probesAgain } from '../../planning/beginning.ts';

const startMs = Date.UTC(2015, 0, 1);
const day = (index: number) => startMs + index * dayMs;
const years = { startMs, endMs: day(3000) };
const nothing: Beginning = { knownMs: null, isAsked: false, mayProbe: true };

function held(beginning: Beginning | undefined, more: Partial<Parameters<typeof holdBack>[0]> = {}) {
  const gaps = more.gaps ?? [years];
  return holdBack({ gaps, free: gaps, beginning, claimed: [], spanMs: dayMs, probeSpanMs: 7305 * dayMs, ...more });
}

describe('the ranges held back until the beginning of a series is known', () => {
  it('are all but the oldest window at first, and then all of the range of a probe', () => {
    const first = { startMs, endMs: day(1), lane: 'backfill' };
    expect(held(nothing)).toEqual({ open: [], ahead: first });
    const probe = { ...years, lane: 'probe' };
    expect(held({ ...nothing, isAsked: true })).toEqual({ open: [], ahead: probe });
  });

  it('end at the earliest point, and the probe includes its day', () => {
    const knownMs = day(2900) + 7 * minuteMs;
    const after = { startMs: knownMs, endMs: years.endMs };
    expect(held({ ...nothing, knownMs })).toMatchObject({ open: [after], ahead: { lane: 'backfill' } });
    expect(held({ ...nothing, knownMs, isAsked: true })).toEqual({
      open: [after],
      ahead: { startMs, endMs: day(2901), lane: 'probe' },
    });
  });

  it('are empty when the gap is short, when points lie before it, or when a probe does not help', () => {
    const all = { open: [years], ahead: null };
    expect(held(undefined)).toEqual(all);
    expect(held({ ...nothing, knownMs: startMs })).toEqual(all);
    expect(held({ ...nothing, knownMs: day(10) })).toEqual(all);
    expect(held({ ...nothing, mayProbe: false })).toEqual(all);
    // The maximum range of days is no longer than that of the series itself.
    expect(held(nothing, { probeSpanMs: 10 * dayMs })).toEqual(all);
    expect(held(nothing, { spanMs: 300 * dayMs })).toEqual(all);
  });
});

describe('the answer of a probe', () => {
  const judged = (timesMs: number[], more: Partial<Parameters<typeof evaluateProbe>[0]> = {}) =>
    evaluateProbe({ window: years, timesMs, rejected: 0, knownMs: null, closedDaysMs: day(9000), ...more });

  it('shows the beginning of the series in any order of points, and leaves the day before it to be requested', () => {
    expect(judged([day(501), day(500), day(502)])).toEqual({
      beginsMs: day(500),
      empty: { startMs, endMs: day(499) },
      doubt: null,
    });
    expect(judged([day(0)])).toEqual({ beginsMs: day(0), empty: null, doubt: null });
  });

  it('shows nothing about days that had not closed', () => {
    expect(judged([])).toMatchObject({ beginsMs: null, empty: { startMs, endMs: day(2999) } });
    expect(judged([], { closedDaysMs: day(700) })).toMatchObject({ empty: { startMs, endMs: day(699) } });
    expect(judged([], { closedDaysMs: startMs })).toMatchObject({ doubt: expect.any(String) });
  });

  it('is rejected when stored points contradict it, or when its days are unreadable or were not requested', () => {
    const knownMs = day(800) + 5 * minuteMs;
    const doubtful = { doubt: expect.any(String) };
    expect(judged([], { knownMs })).toEqual(doubtful);
    expect(judged([day(801)], { knownMs })).toEqual(doubtful);
    expect(judged([day(800)], { knownMs })).toMatchObject({ beginsMs: day(800) });
    expect(judged([day(600)], { knownMs })).toMatchObject({ beginsMs: day(600) });
    expect(judged([day(600)], { rejected: 1 })).toEqual(doubtful);
    expect(judged([day(5000)])).toEqual(doubtful);
    // An open day has no point of history yet.
    expect(judged([], { knownMs, closedDaysMs: day(800) })).toMatchObject({ doubt: null });
  });
});

const before = { startMs: day(0), endMs: day(1000) };
const said = (probes: Iterable<Range>) =>
  [...probes].map((probe) => ({ startMs: probe.startMs, endMs: probe.endMs - dayMs }));

it('the probes that verify the years before a series leave no day between two of them', () => {
  for (const days of [1, 2, 3, 7, 100, 999, 1000, 1001, 1002, 1003]) {
    const pieces = said(probesAgain(before, null, days * dayMs));
    expect(pieces[0]?.startMs).toBe(before.startMs);
    expect(pieces.at(-1)?.endMs).toBe(before.endMs);
    for (const [place, piece] of pieces.entries()) {
      expect(piece.endMs).toBeGreaterThan(piece.startMs);
      expect(pieces[place + 1]?.startMs ?? piece.endMs).toBe(piece.endMs);
    }
  }
});
