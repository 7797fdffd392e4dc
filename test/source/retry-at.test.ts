import { expect, test } from 'vitest';
import { retryAt } from '../../source/refusal.ts';

const nowMs = Date.UTC(2024, 0, 31, 23, 59, 30, 250);

function at(headers: Record<string, string>): number {
  return retryAt((name) => headers[name], nowMs) - nowMs;
}

test.each([
  ['seconds', { 'retry-after': '7' }, 7000],
  ['a date', { 'retry-after': 'Thu, 01 Feb 2024 00:00:00 GMT' }, 29_750],
  ['the reset time, in epoch seconds', { 'x-ratelimit-reset': String(Date.UTC(2024, 1, 1) / 1000) }, 29_750],
  ['Retry-After before the reset', { 'retry-after': '7', 'x-ratelimit-reset': '1706745600' }, 7000],
  ['a minute, without a word', {}, 60_000],
  ['a minute, when Retry-After is no time', { 'retry-after': 'soon' }, 60_000],
  ['a minute, when the date is past', { 'retry-after': 'Wed, 31 Jan 2024 23:59:00 GMT' }, 60_000],
  [
    'the reset time when Retry-After gives no future time',
    { 'retry-after': '0', 'x-ratelimit-reset': '1706745600' },
    29_750,
  ],
  ['an hour at most, of seconds', { 'retry-after': '999999999999999999999' }, 3_600_000],
  ['an hour at most, of a reset in milliseconds', { 'x-ratelimit-reset': '1706745600000' }, 3_600_000],
])('comes back after %s', (_, headers, delayMs) => {
  expect(at(headers)).toBe(delayMs);
});
