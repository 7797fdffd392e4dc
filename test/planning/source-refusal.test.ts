import { describe, expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import {
  afterAcceptance,
  afterNoAnswer,
  afterRefusal,
  afterSilence,
  beginAlone,
  entryOf,
  type SourceRefusal,
} from '../../planning/source-refusal.ts';

const nowMs = Date.UTC(2024, 0, 1);
const failure = (atMs: number, more: { retryAtMs?: number; startedMs?: number; kind?: string } = {}) => ({
  ...{ kind: 'address_refused', message: 'status 403', startedMs: atMs, nowMs: atMs, retryAtMs: null },
  ...more,
});

/** Refuses each request that goes alone. @returns when each is sent, minutes after the first refusal. */
function refusedAt(times: number, more: { kind?: string; afterMs?: number } = {}): number[] {
  const sent: number[] = [];
  let state: SourceRefusal | null = null;
  let atMs = nowMs;
  for (let place = 0; place <= times; place += 1) {
    const retryAtMs = more.afterMs === undefined ? {} : { retryAtMs: atMs + more.afterMs };
    state = afterRefusal(state, failure(atMs, { ...more, ...retryAtMs }));
    atMs = state.untilMs;
    sent.push((atMs - nowMs) / minuteMs);
  }
  return sent;
}

describe('a source that refuses all requests', () => {
  test('is asked once after pauses from a minute to an hour, at most three times within ten minutes', () => {
    expect(refusedAt(8)).toEqual([1, 3, 7, 15, 31, 63, 123, 183, 243]);
    // Even if it states a second each time: the first time it is believed.
    expect(refusedAt(4, { afterMs: 1000 }).map(Math.floor)).toEqual([0, 2, 6, 14, 30]);
    expect(refusedAt(2, { afterMs: 3 * hourMs })).toEqual([180, 360, 540]);
    expect(afterRefusal(null, failure(nowMs, { retryAtMs: nowMs - 5000 })).untilMs).toBe(nowMs + 1000);
  });

  test('is not asked less because requests that were under way are refused as well', () => {
    const first = afterRefusal(null, failure(nowMs));
    const underWay = afterRefusal(first, failure(nowMs + 20, { startedMs: nowMs - 100 }));
    expect(underWay).toEqual(first);
    const stated = { startedMs: nowMs - 100, retryAtMs: nowMs + hourMs };
    expect(afterRefusal(first, failure(nowMs + 20, stated)).untilMs).toBe(nowMs + hourMs);
  });

  test('gets one request alone after the pause, and the others when it is accepted', () => {
    const refused = afterRefusal(null, failure(nowMs));
    expect(entryOf(null, nowMs)).toEqual({ kind: 'open' });
    expect(entryOf(refused, nowMs + 1000)).toEqual({ kind: 'wait', forMs: 59_000 });
    const dueMs = refused.untilMs;
    expect(entryOf(refused, dueMs)).toEqual({ kind: 'alone' });
    const alone = beginAlone(refused, dueMs);
    expect(entryOf(alone, dueMs + 30_000)).toEqual({ kind: 'wait', forMs: 1000 });
    // Its process was killed.
    expect(entryOf(alone, dueMs + 2 * minuteMs)).toEqual({ kind: 'alone' });
    expect(entryOf(afterNoAnswer(alone, dueMs + 500), dueMs + 1000)).toEqual({ kind: 'wait', forMs: 500 });
    // Dropped, and not answered: as long as if it had been refused.
    expect(afterSilence(alone, dueMs).untilMs).toBe(dueMs + 2 * minuteMs);
    expect(afterSilence({ ...alone, kind: 'rate_limited' }, dueMs).untilMs).toBe(dueMs + 1000);
    expect(entryOf(afterAcceptance(alone, dueMs + 500), dueMs + 500)).toEqual({ kind: 'open' });
  });

  test('is asked ever less if it refuses again soon after a success, except for its limit', () => {
    const accepted = afterAcceptance(afterRefusal(null, failure(nowMs)), nowMs + minuteMs);
    const again = (afterMs: number, kind: string) =>
      afterRefusal(accepted, failure(nowMs + minuteMs + afterMs, { kind })).inARow;
    expect(again(5 * minuteMs, 'address_refused')).toBe(2);
    expect(again(15 * minuteMs, 'address_refused')).toBe(1);
    expect(again(5 * minuteMs, 'rate_limited')).toBe(1);
  });
});
