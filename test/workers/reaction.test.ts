import { describe, expect, test } from 'vitest';
import type { SourceErrorKind } from '../../sources/source-error.ts';
import { backoffMs, isOutage, mayBeAboutLength, reactionTo } from '../../workers/source-failure.ts';

const nowMs = Date.UTC(2024, 0, 1);
const context = {
  attempt: 1,
  last: false,
  unknownBefore: false,
  failedRetryMs: 600_000,
  firstRetryMs: 30_000,
  missingPauseMs: 60_000,
  isCommand: false,
  asksForLess: false,
  random: 0,
};
const error = (kind: SourceErrorKind, more: { unknownId?: boolean; retryAtMs?: number; status?: number } = {}) => ({
  kind,
  status: null,
  unknownId: false,
  retryAtMs: null,
  ...more,
});

describe('the reaction to a failed attempt', () => {
  test.each(['unreachable', 'timeout', 'server_error', 'unexpected', 'too_large', 'not_found'] as const)(
    '%s: retries, and defers the window after the last attempt',
    (kind) => {
      expect(reactionTo(error(kind), context)).toEqual({ kind: 'retry', inMs: 500 });
      expect(reactionTo(error(kind), { ...context, attempt: 5, last: true })).toEqual({
        kind: 'defer',
        // A body that is too large says nothing about the source's state.
        forMs: kind === 'too_large' ? 600_000 : 30_000,
      });
    },
  );

  test('a refusal of the key, the address or the country pauses all requests, one of a series only its own', () => {
    for (const kind of [...(['rate_limited', 'notice', 'unauthorized', 'address_refused', 'country_refused'] as const)])
      expect(reactionTo(error(kind), { ...context, last: true })).toEqual({ kind: 'pause' });
    expect(reactionTo(error('series_refused'), context)).toEqual({ kind: 'block', forMs: 3_600_000 });
    expect(reactionTo(error('server_error', { retryAtMs: nowMs + 1 }), context)).toEqual({ kind: 'pause' });
  });

  test('incomplete: defers the ranges that the source lacks at once, and counts no outage', () => {
    expect(reactionTo(error('incomplete'), context)).toEqual({ kind: 'defer', forMs: 60_000 });
    expect(isOutage(error('incomplete'))).toBe(false);
  });

  test('refused: defers at once, unless a shorter range may succeed', () => {
    expect(reactionTo(error('refused'), context)).toEqual({ kind: 'defer', forMs: 600_000 });
    const asksForLess = { ...context, last: true, asksForLess: true };
    expect(reactionTo(error('refused'), asksForLess)).toEqual({ kind: 'less' });
    const statuses = [400, 405, 410, 413, 451].filter((status) => mayBeAboutLength(error('refused', { status })));
    expect(statuses).toEqual([400, 413]);
    expect(mayBeAboutLength(error('not_found', { status: 400 }))).toBe(false);
  });

  test('an unknown id: retries, and blocks the series when it is still unknown', () => {
    const unknown = error('not_found', { unknownId: true });
    expect(reactionTo(unknown, context)).toMatchObject({ kind: 'retry' });
    expect(reactionTo(unknown, { ...context, unknownBefore: true })).toEqual({ kind: 'block', forMs: 3_600_000 });
    // A 404 with another text proves nothing about the id, even after one that did.
    expect(reactionTo(error('not_found'), { ...context, unknownBefore: true })).toMatchObject({ kind: 'retry' });
  });

  test('a command gets the error of a series that is unknown or refused, and the series goes on', () => {
    const ofCommand = { ...context, isCommand: true };
    const unknown = error('not_found', { unknownId: true });
    expect(reactionTo(unknown, ofCommand)).toMatchObject({ kind: 'retry' });
    const deferred = { kind: 'defer', forMs: 600_000 };
    expect(reactionTo(unknown, { ...ofCommand, unknownBefore: true })).toEqual(deferred);
    expect(reactionTo(error('series_refused'), ofCommand)).toEqual(deferred);
  });
});

test('the backoff doubles up to a minute, with jitter over its upper half', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 20].map((attempt) => backoffMs(attempt, 1))).toEqual([
    1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000,
  ]);
  expect(backoffMs(3, 0)).toBe(2000);
});

test('errors of a single request do not count as an outage of the source', () => {
  const kinds: SourceErrorKind[] = [
    'unreachable',
    'timeout',
    'server_error',
    'rate_limited',
    'refused',
    'unauthorized',
    'not_found',
    'too_large',
    'notice',
    'unexpected',
  ];
  expect(kinds.filter((kind) => isOutage(error(kind)))).toEqual([
    'unreachable',
    'timeout',
    'server_error',
    'not_found',
    'unexpected',
  ]);
  expect(isOutage(error('not_found', { unknownId: true }))).toBe(false);
});
