/** Classifies responses with a status other than 200, and service messages; reads when to retry. */

import { type EpochMs, hourMs, minuteMs } from '../contract/intervals.ts';
import { bodyToShow, type HeaderLookup, type Reply, wordsToShow } from './attempt.ts';
import { parseExactJson } from './json.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

export function refusal(reply: Reply, nowMs: EpochMs): SourceError {
  const { name, status, durationMs } = reply;
  const words = messagesOfBody(reply.body.toString('utf8'));
  const kind = kindOf(status, words);
  const body = bodyToShow(reply);
  const said = wordsToShow(reply, words.error ?? words.serviceMessage ?? redirection(reply) ?? body);
  return new SourceError({
    kind,
    message: `${name}: status ${status}${said === '' ? '' : `: ${said}`}`,
    status,
    retryAtMs: kind === 'rate_limited' ? retryAt(reply.header, nowMs) : null,
    unknownId: kind === 'not_found' && statesUnknownId(words),
    durationMs,
    bytes: reply.body.length,
    body,
  });
}

function kindOf(status: number, words: StatedMessages): SourceErrorKind {
  if (status >= 500) return 'server_error';
  // A retired service may answer everything so, with 429 too. Waiting for the budget would wait forever.
  if (words.serviceMessage !== null) return 'notice';
  if (status === 429) return 'rate_limited';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'not_found';
  // The gateway timed out. The request itself is valid.
  if (status === 408) return 'timeout';
  if (status >= 400) return statesUnknownId(words) ? 'not_found' : 'refused';
  return 'unexpected';
}

/** Redirects are not followed: they could send the key to another host. */
function redirection({ status, header }: Reply): string | null {
  const location = status >= 300 && status < 400 ? header('location') : undefined;
  return location === undefined ? null : `redirects to ${location}`;
}

export interface StatedMessages {
  /** `{"error": "…"}` and similar forms. */
  readonly error: string | null;
  /** A service message, `{"data": {"message": "…"}}`. */
  readonly serviceMessage: string | null;
}

/** Messages of a parsed answer. */
export function messagesOf(value: unknown): StatedMessages {
  const error = textAt(value, 'error') ?? textAt(fieldOf(value, 'error'), 'message');
  return {
    error: error ?? textAt(value, 'message'),
    serviceMessage: textAt(fieldOf(value, 'data'), 'message'),
  };
}

/** Messages of a body, which may not be JSON. */
function messagesOfBody(text: string): StatedMessages {
  try {
    return messagesOf(parseExactJson(text));
  } catch {
    return { error: null, serviceMessage: null };
  }
}

/** Whether a message states that the id is unknown: `<id> not found`. */
export function statesUnknownId(words: StatedMessages): boolean {
  return words.error !== null && / not found$/i.test(words.error.trim());
}

function textAt(value: unknown, key: string): string | null {
  const field = fieldOf(value, key);
  return typeof field === 'string' ? field : null;
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

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
