/** When a rate-limited client may send requests again. */

import { type EpochMs, hourMs, minuteMs } from '../contract/intervals.ts';

/** Looks up a header by its lower-case name. */
export type HeaderLookup = (name: string) => string | undefined;

/** The interface counts per minute, so the budget is free again after a minute. */
const defaultPauseMs = minuteMs;

/** A pause stops every worker. A source that asks for days is wrong, and one request an hour costs nothing. */
const longestPauseMs = hourMs;

/**
 * Reads the time from a 429 response: `Retry-After` (seconds or an HTTP date), else `X-RateLimit-Reset` (epoch seconds),
 * else one minute from now. At most an hour ahead. A time in the past is ignored: clocks differ, and the client would
 * retry at once.
 */
export function retryAt(header: HeaderLookup, nowMs: EpochMs): EpochMs {
  const moments = [retryAfter(header('retry-after'), nowMs), rateLimitReset(header('x-ratelimit-reset'))];
  const named = moments.find((momentMs) => momentMs !== null && momentMs > nowMs);
  return Math.min(named ?? nowMs + defaultPauseMs, nowMs + longestPauseMs);
}

function retryAfter(value: string | undefined, nowMs: EpochMs): EpochMs | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d+(?:\.\d+)?$/.test(text)) return nowMs + Math.ceil(Number(text) * 1000);
  // Only the format of HTTP ("Sun, 06 Nov 1994 08:49:37 GMT"): Date.parse also accepts "5" and "-1".
  const dateMs = /^[A-Za-z]{3}, \d{2} [A-Za-z]{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)
    ? Date.parse(text)
    : NaN;
  return Number.isNaN(dateMs) ? null : dateMs;
}

function rateLimitReset(value: string | undefined): EpochMs | null {
  return value !== undefined && /^\d+(?:\.\d+)?$/.test(value.trim()) ? Math.ceil(Number(value) * 1000) : null;
}
