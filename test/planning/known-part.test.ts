import { describe, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../contract/intervals.ts';
import { knownPart, missingPauseMs, missingPeriods } from '../../planning/known-part.ts';

const dayStart = Date.UTC(2024, 0, 1);
const at = (hour: number) => dayStart + hour * hourMs;
const hours = (from: number, to: number) => ({ startMs: at(from), endMs: at(to) });

describe('the part of a window that an answer counts for', () => {
  const window = hours(0, 24);

  it('is all of it where the source does not say, and up to when it says where nothing is missing', () => {
    expect(knownPart(window, 'h1', null)).toEqual({
      ...{ window, untilMs: Number.POSITIVE_INFINITY, missing: [] },
    });
    expect(knownPart(window, 'h1', { untilMs: at(20), missing: [] })).toEqual({
      ...{ window, untilMs: at(20), missing: [] },
    });
  });

  it('is the last run of what is known', () => {
    const missing = [hours(2, 3), hours(10, 12)];
    expect(knownPart(window, 'h1', { untilMs: at(24), missing })).toEqual({
      ...{ window: hours(12, 24), untilMs: at(24), missing },
    });
  });

  it('ends where the source lags, and reaches to the open period all the same', () => {
    const missing = [hours(19, 20)];
    expect(knownPart(window, 'h1', { untilMs: at(20), missing })).toEqual({
      ...{ window, untilMs: at(19), missing },
    });
  });

  it('is what has not ended where nothing of the rest is known', () => {
    expect(knownPart(window, 'h1', { untilMs: at(20), missing: [hours(-5, 20)] })).toEqual({
      ...{ window: hours(20, 24), untilMs: at(20), missing: [hours(0, 20)] },
    });
  });

  it('holds no period that is known in part', () => {
    const missing = [{ startMs: at(2) + 20 * minuteMs, endMs: at(2) + 30 * minuteMs }];
    expect(missingPeriods({ untilMs: at(24), missing }, 'h1', window)).toEqual([hours(2, 3)]);
    expect(knownPart(window, 'h1', { untilMs: at(24), missing }).window).toEqual(hours(3, 24));
  });
});

it('what the source has only just come to lack is asked for again soon, and what it long lacks later', () => {
  const pause = (nowMs: number) => missingPauseMs(hours(10, 11), 'h1', nowMs, 10 * minuteMs);
  expect(pause(at(11) + 5000)).toBe(minuteMs);
  expect(pause(at(11) + 4 * minuteMs)).toBe(4 * minuteMs);
  expect(pause(at(11) + dayMs)).toBe(10 * minuteMs);
});
