import { expect, test } from 'vitest';
import { retryAt } from '../../sources/error-response.ts';

const nowMs = Date.UTC(2024, 0, 31, 23, 59, 30, 250);

function at(headers: Record<string, string>): number | null {
  const retryAtMs = retryAt({ header: (name) => headers[name], status: 429 }, nowMs);
  return retryAtMs && retryAtMs - nowMs;
}

test.each([
  ['seconds', { 'retry-after': '7' }, 7000],
  ['a date', { 'retry-after': 'Thu, 01 Feb 2024 00:00:00 GMT' }, 29_750],
  ['the reset time, in epoch seconds', { 'x-ratelimit-reset': String(Date.UTC(2024, 1, 1) / 1000) }, 29_750],
  ['Retry-After before the reset', { 'retry-after': '7', 'x-ratelimit-reset': '1706745600' }, 7000],
  ['nobody knows when, without a word', {}, null],
  ['nobody knows when, if Retry-After is no time', { 'retry-after': 'soon' }, null],
  ['nobody knows when, if the date is past', { 'retry-after': 'Wed, 31 Jan 2024 23:59:00 GMT' }, null],
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
