/** When a rate-limited client may come back. */

import { type EpochMs, hourMs, minuteMs } from '../contract/intervals.ts';

/** Looks up a header by its lower-case name. */
export type HeaderLookup = (name: string) => string | undefined;

/** The interface counts by the minute, so a minute later there is room again, whatever the source forgot to say. */
const defaultPauseMs = minuteMs;

/** A pause stops every worker. A source that asks for days is wrong or gone, and asking again hourly costs nothing. */
const longestPauseMs = hourMs;

/**
 * The moment that a 429 answer names, from `Retry-After` (seconds or an HTTP date), else `X-RateLimit-Reset`
 * (epoch seconds), else a minute from now. At most an hour ahead. A header that names no moment to come says
 * nothing: clocks differ, and taking it at its word would ask again at once.
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
  // Only the form that HTTP prescribes ("Sun, 06 Nov 1994 08:49:37 GMT"): Date.parse alone also takes "5" or "-1".
  const dateMs = /^[A-Za-z]{3}, \d{2} [A-Za-z]{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)
    ? Date.parse(text)
    : NaN;
  return Number.isNaN(dateMs) ? null : dateMs;
}

function rateLimitReset(value: string | undefined): EpochMs | null {
  return value !== undefined && /^\d+(?:\.\d+)?$/.test(value.trim()) ? Math.ceil(Number(value) * 1000) : null;
}
