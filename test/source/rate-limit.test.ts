import { describe, expect, test } from 'vitest';
import { answering, failureAt, nowMs } from './failure-at.ts';

describe('rate limit', () => {
  const text = 'You exceeded your 200 request(s) rate limit of your FREE plan';

  test.each([
    ['Retry-After in seconds', { 'Retry-After': '7' }, nowMs + 7000],
    ['Retry-After as a date', { 'Retry-After': new Date(nowMs + 30_000).toUTCString() }, nowMs + 30_000],
    ['X-Ratelimit-Reset', { 'X-Ratelimit-Reset': String(nowMs / 1000 + 11) }, nowMs + 11_000],
    ['nothing', {}, nowMs + 60_000],
    ['an absurd reset', { 'X-Ratelimit-Reset': '99999999999' }, nowMs + 3_600_000],
  ])('with %s', async (_, headers, retryAtMs) => {
    expect(await failureAt(answering(429, text, headers))).toMatchObject({
      kind: 'rate_limited',
      status: 429,
      retryAtMs,
      message: `GET /rates: status 429: ${text}`,
    });
  });

  test('only a rate limit gives a time for the next request', async () => {
    expect((await failureAt(answering(503, '', { 'retry-after': '7' }))).retryAtMs).toBeNull();
  });
});
