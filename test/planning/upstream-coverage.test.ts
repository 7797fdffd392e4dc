import { describe, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { missingPauseMs, missingPeriods, upstreamPart } from '../../planning/upstream-coverage.ts';

const dayStart = Date.UTC(2024, 0, 1);
const at = (hour: number) => dayStart + hour * hourMs;
const hours = (from: number, to: number) => ({ startMs: at(from), endMs: at(to) });

describe('the part of a window that an answer covers', () => {
  const window = hours(0, 24);

  it('is the last range without missing periods', () => {
    const missing = [hours(2, 3), hours(10, 12)];
    expect(upstreamPart(window, 'h1', { untilMs: at(24), missing })).toEqual({
      window: hours(12, 24),
      untilMs: at(24),
      missing,
      holes: [],
    });
  });

  it('of a whole file is all of it but its ends, with the holes within', () => {
    const missing = [hours(0, 1), hours(2, 3), hours(10, 12), hours(23, 24)];
    expect(upstreamPart(window, 'h1', { untilMs: Number.POSITIVE_INFINITY, missing }, true)).toEqual({
      window: hours(1, 24),
      untilMs: at(23),
      missing,
      holes: [hours(2, 3), hours(10, 12)],
    });
  });

  it('ends where the source lags, and still includes the open period', () => {
    const missing = [hours(19, 20)];
    expect(upstreamPart(window, 'h1', { untilMs: at(20), missing })).toEqual({
      window,
      untilMs: at(19),
      missing,
      holes: [],
    });
  });

  it('is the open period when all closed ones are missing', () => {
    expect(upstreamPart(window, 'h1', { untilMs: at(20), missing: [hours(-5, 20)] })).toEqual({
      window: hours(20, 24),
      untilMs: at(20),
      missing: [hours(0, 20)],
      holes: [],
    });
  });

  it('contains no partly missing period', () => {
    const missing = [{ startMs: at(2) + 20 * minuteMs, endMs: at(2) + 30 * minuteMs }];
    expect(missingPeriods({ untilMs: at(24), missing }, 'h1', window)).toEqual([hours(2, 3)]);
    expect(upstreamPart(window, 'h1', { untilMs: at(24), missing }).window).toEqual(hours(3, 24));
  });
});

it('a recently missing range is requested again soon, and an old one later', () => {
  const pause = (nowMs: number) => missingPauseMs(hours(10, 11), 'h1', nowMs, 10 * minuteMs);
  expect(pause(at(11) + 5000)).toBe(minuteMs);
  expect(pause(at(11) + 4 * minuteMs)).toBe(4 * minuteMs);
  expect(pause(at(11) + dayMs)).toBe(10 * minuteMs);
});
