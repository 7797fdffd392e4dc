import { describe, expect, it } from 'vitest';
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

  it('excludes the newest interruption as soon as work goes on', () => {
    const before = steadily(60, 8);
    expect(perMs(steadily(4, 8, steadily(120, 0, before)))).toBeCloseTo(0.008, 3);
    expect(perMs(steadily(4, 8, steadily(20, 0, before)))).toBeCloseTo(0.008, 3);
    // What was done before by the way says nothing.
    expect(perMs(steadily(6, 8, steadily(20, 0, steadily(3, 1))))).toBeGreaterThan(0.005);
  });
});

describe('the time left', () => {
  it('follows from the remaining work and the rate, and is unknown without a rate', () => {
    expect(timeLeftMs(600, 0.01, { perMinute: 0 })).toBe(60_000);
    expect(timeLeftMs(600, null, { perMinute: 500 })).toBeNull();
    expect(timeLeftMs(0, null, { perMinute: 500 })).toBe(0);
  });

  it('includes arriving work, and is unknown when that equals the rate', () => {
    expect(timeLeftMs(100, 0.01, { perMinute: 600, arriving: 300 })).toBeCloseTo(20_000, 6);
    expect(timeLeftMs(100, 0.01, { perMinute: 600, arriving: 600 })).toBeNull();
  });
});
