import { describe, expect, it } from 'vitest';
import { minuteMs } from '../../model/intervals.ts';
import { addSample, perMs, type Sample, timeLeftMs } from '../../planning/rate.ts';

/** Samples of steady work, once a second. */
function steadily(seconds: number, perSecond: number, from: readonly Sample[] = []): readonly Sample[] {
  const start = from.at(-1) ?? { atMs: 1000, done: 0 };
  let seen = from;
  for (let second = from.length === 0 ? 0 : 1; second <= seconds; second += 1) {
    const done = start.done + Math.floor(second * perSecond);
    seen = addSample(seen, { atMs: start.atMs + second * 1000, done });
  }
  return seen;
}

describe('the rate', () => {
  it('is unknown before a few seconds have passed and a few items are done', () => {
    expect(perMs([])).toBeNull();
    expect(perMs(steadily(2, 100))).toBeNull();
    expect(perMs(steadily(20, 0.1))).toBeNull();
    expect(perMs(steadily(3, 100))).toBe(0.1);
  });

  it('is that of the last minute', () => {
    const slow = steadily(300, 1);
    expect(perMs(slow)).toBeCloseTo(0.001, 6);
    expect(perMs(steadily(60, 8, slow))).toBeCloseTo(0.008, 6);
  });

  it('is unknown when work has stopped, however fast it was', () => {
    const fast = steadily(60, 8);
    expect(perMs(steadily(20, 0, fast))).not.toBeNull();
    expect(perMs(steadily(40, 0, fast))).toBeNull();
    expect(perMs(steadily(40, 0, steadily(900, 1 / 40)))).not.toBeNull();
  });

  it('stays as it was while nothing is done, until the work has stopped', () => {
    const fast = steadily(60, 8);
    for (const seconds of [10, 20, 29]) expect(perMs(steadily(seconds, 0, fast))).toBeCloseTo(0.008, 4);
  });

  it('excludes every minute in which the work was held', () => {
    const outages = [120, 180].reduce((seen, seconds) => steadily(40, 8, steadily(seconds, 0, seen)), steadily(40, 8));
    expect(perMs(outages)).toBeCloseTo(0.008, 4);
  });

  it('includes short breaks that recur', () => {
    const broken = [1, 2, 3, 4].reduce((seen) => steadily(40, 8, steadily(20, 0, seen)), steadily(40, 8));
    expect(perMs(broken)).toBeCloseTo((0.008 * 2) / 3, 3);
  });

  it('counts short breaks that recur from the first one on, each with the work between', () => {
    const refused = [1, 2].reduce((seen) => steadily(48, 0, steadily(12, 5, seen)), steadily(300, 8));
    for (const seconds of [2, 6, 12]) expect(perMs(steadily(seconds, 5, refused))).toBeCloseTo(0.001, 4);
    // In a break that is no longer than those before the work goes on.
    for (const seconds of [15, 35, 47])
      expect(perMs(steadily(seconds, 0, steadily(12, 5, refused)))).toBeCloseTo(0.001, 4);
    expect(perMs(steadily(100, 0, steadily(12, 5, refused)))).toBeNull();
  });

  it('takes the mean of five minutes of breaks that are not alike, such as those of refreshes', () => {
    const held = [40, 20, 10, 20, 45, 20, 10, 40, 40];
    const worked = [40, 60, 15, 10, 10, 180, 20, 10, 30];
    const seen = held.reduce(
      (all, ms, place) => steadily(worked[place] ?? 0, 2, steadily(ms, 0, all)),
      steadily(200, 2),
    );
    const nowMs = seen.at(-1)?.atMs ?? 0;
    const since = seen.find(({ atMs }) => atMs >= nowMs - 5 * minuteMs);
    expect(perMs(seen)).toBeCloseTo(((seen.at(-1)?.done ?? 0) - (since?.done ?? 0)) / (5 * minuteMs), 4);
  });

  it('forgets breaks that recurred, when they stay away', () => {
    const refused = [1, 2, 3, 4].reduce((seen) => steadily(48, 0, steadily(12, 5, seen)), steadily(60, 5));
    expect(perMs(steadily(30, 5, refused))).toBeLessThan(0.003);
    for (const seconds of [45, 200]) expect(perMs(steadily(seconds, 5, refused))).toBeCloseTo(0.005, 4);
  });

  it('forgets the little that was done, with its breaks, before the work began', () => {
    const idle = Array.from({ length: 4 }).reduce<readonly Sample[]>(
      (seen) => steadily(38, 0, steadily(2, 1, seen)),
      steadily(2, 1),
    );
    const held = steadily(33, 0, steadily(20, 9.5, idle));
    for (const seconds of [12, 30, 60, 100]) expect(perMs(steadily(seconds, 9.5, held))).toBeCloseTo(0.0095, 3);
    for (const seconds of [15, 30]) expect(perMs(steadily(seconds, 9.5, idle))).toBeCloseTo(0.0095, 3);
  });

  it('excludes the newest interruption as soon as work goes on', () => {
    const before = steadily(60, 8);
    expect(perMs(steadily(4, 8, steadily(120, 0, before)))).toBeCloseTo(0.008, 3);
    expect(perMs(steadily(4, 8, steadily(20, 0, before)))).toBeCloseTo(0.008, 3);
    // What was done before by the way says nothing.
    expect(perMs(steadily(6, 8, steadily(20, 0, steadily(3, 1))))).toBeGreaterThan(0.005);
  });
});

describe('the time left', () => {
  it('follows from the remaining work and the rate, rounded, and is unknown without a rate', () => {
    expect(timeLeftMs(600, 0.01)).toBe(60_000);
    expect(timeLeftMs(6170, 0.01)).toBe(10 * 60_000);
    expect(timeLeftMs(600, null)).toBeNull();
    expect(timeLeftMs(600, 0)).toBeNull();
    expect(timeLeftMs(0, null)).toBe(0);
  });
});
