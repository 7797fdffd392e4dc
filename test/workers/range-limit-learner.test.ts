import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import type { Window } from '../../model/window.ts';
import { createRangeLimitLearner } from '../../workers/range-limit-learner.ts';
import { fillOf } from '../parts/windows.ts';

const startMs = Date.UTC(2024, 0, 1);
const restMs = 600_000;
const nowMs = Date.UTC(2024, 2, 1);
const vague = { namesLength: false, nowMs };
const clear = { namesLength: true, nowMs };

function dayOf(place: number, seriesId = 1): Window {
  const series = { dataset: 'candles', exchange: 'x', baseId: 'bitcoin', quoteId: 'tether', interval: 'm1' } as const;
  const from = startMs + place * dayMs;
  return fillOf({ seriesId, series, startMs: from, endMs: from + dayMs });
}
const lengthOf = (window: Window) => window.endMs - window.startMs;

/** Requests like a worker until the window is accepted or given up. @returns the requested lengths in minutes. */
function ask(trials: ReturnType<typeof createRangeLimitLearner>, window: Window, longestMs: number, refusal = clear) {
  const asked: number[] = [];
  for (;;) {
    const part = trials.shortened(window);
    asked.push(lengthOf(part) / minuteMs);
    if (lengthOf(part) <= longestMs) return { asked, lesson: trials.accepted(part) };
    if (trials.refused(part, refusal) === 'give_up') return { asked, lesson: 'given up' };
  }
}

test('halves the range until the source accepts, and keeps that length for every series', () => {
  const trials = createRangeLimitLearner({ restMs });
  expect(ask(trials, dayOf(0), 5 * hourMs)).toEqual({
    asked: [1440, 720, 360, 180],
    lesson: { key: 'candles m1', longestMs: 3 * hourMs },
  });
  expect(ask(trials, dayOf(0, 2), 5 * hourMs)).toEqual({ asked: [180], lesson: null });
  // The source now accepts less.
  expect(ask(trials, dayOf(1), hourMs)).toMatchObject({ asked: [180, 90, 45], lesson: { longestMs: 45 * minuteMs } });
});

test('repeats the whole range once first when the error text names no length', () => {
  const trials = createRangeLimitLearner({ restMs });
  expect(ask(trials, dayOf(0), 12 * hourMs, vague)).toMatchObject({
    asked: [1440, 1440, 720],
    lesson: { longestMs: 12 * hourMs },
  });
});

test('learns nothing from a temporary refusal', () => {
  const trials = createRangeLimitLearner({ restMs });
  expect(trials.refused(dayOf(0), vague)).toBe('again');
  expect(trials.accepted(trials.shortened(dayOf(0)))).toBeNull();
  expect(trials.refused(dayOf(0), vague)).toBe('again');
  expect(lengthOf(trials.shortened(dayOf(0)))).toBe(dayMs);
});

test('gives up after some attempts, pauses the series, and then retries', () => {
  const trials = createRangeLimitLearner({ restMs });
  const first = ask(trials, dayOf(0), 0);
  expect(first.lesson).toBe('given up');
  expect(first.asked.length).toBeLessThanOrEqual(11);
  expect(ask(trials, dayOf(1), 0)).toEqual({ asked: [1440], lesson: 'given up' });
  expect(trials.refused(dayOf(1), { ...clear, nowMs: nowMs + restMs })).toBe('again');
  // Other series are unaffected.
  expect(lengthOf(trials.shortened(dayOf(0, 2)))).toBe(dayMs);
});

test('requests full ranges again when other series had theirs accepted', () => {
  const trials = createRangeLimitLearner({ restMs });
  trials.refused(dayOf(0), clear);
  for (let place = 1; place <= 50; place += 1) {
    expect(trials.accepted(trials.shortened(dayOf(place)))).toBeNull();
  }
  expect(lengthOf(trials.shortened(dayOf(51)))).toBe(dayMs);
});
