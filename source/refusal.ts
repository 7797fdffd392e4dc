/** Classifies responses with a status other than 200, and service messages; reads when to retry. */

import { type EpochMs, hourMs, minuteMs } from '../contract/intervals.ts';
import { bodyToShow, type HeaderLookup, type Reply, wordsToShow } from './attempt.ts';
import { parseExactJson } from './json.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

export function refusal(reply: Reply, nowMs: EpochMs): SourceError {
  const words = messagesOfBody(reply.body.toString('utf8'));
  const kind = kindOf(reply.status, words);
  return replyError(reply, {
    kind,
    said: words.error ?? words.serviceMessage,
    retryAtMs: kind === 'rate_limited' ? retryAt(reply.header, nowMs) : null,
    unknownId: kind === 'not_found' && statesUnknownId(words),
  });
}

/**
 * The error of a response.
 *
 * @param details.said the source's words; null: where it redirects to, or its body.
 * @param details.unknownId by default that of the kind `not_found`.
 */
export function replyError(
  reply: Reply,
  details: {
    readonly kind: SourceErrorKind;
    readonly said: string | null;
    readonly retryAtMs?: EpochMs | null;
    readonly unknownId?: boolean;
    readonly cause?: unknown;
  },
): SourceError {
  const { name, status, durationMs } = reply;
  const { kind, retryAtMs = null, unknownId = kind === 'not_found', cause } = details;
  const body = bodyToShow(reply);
  const said = wordsToShow(reply, details.said ?? redirection(reply) ?? body);
  const message = `${name}: status ${status}${said === '' ? '' : `: ${said}`}`;
  const bytes = reply.body.length;
  return new SourceError({ kind, message, status, retryAtMs, unknownId, durationMs, bytes, body, cause });
}

function kindOf(status: number, words: StatedMessages): SourceErrorKind {
  // A retired service may answer everything so, with 429 too. Waiting for the budget would wait forever.
  if (status < 500 && words.serviceMessage !== null) return 'notice';
  const kind = kindOfStatus(status);
  return kind === 'refused' && statesUnknownId(words) ? 'not_found' : kind;
}

/** What a status other than 200 means everywhere. */
export function kindOfStatus(status: number): SourceErrorKind {
  if (status >= 500) return 'server_error';
  if (status === 429) return 'rate_limited';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'not_found';
  // The gateway timed out. The request itself is valid.
  if (status === 408) return 'timeout';
  return status >= 400 ? 'refused' : 'unexpected';
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
  return messagesOf(jsonOrNull(text));
}

/** The JSON of an error's body; null: it is none. */
export function jsonOrNull(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return null;
  }
}

/** Whether a message states that the id is unknown: `<id> not found`. */
export function statesUnknownId(words: StatedMessages): boolean {
  return words.error !== null && / not found$/i.test(words.error.trim());
}

export function textAt(value: unknown, key: string): string | null {
  const field = fieldOf(value, key);
  return typeof field === 'string' ? field : null;
}

export function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** The interface counts per minute, so the budget is free again after a minute. */
const defaultPauseMs = minuteMs;

/** A pause stops every worker. A Market Data Service that asks for days is wrong, and one request an hour costs nothing. */
export const longestServicePauseMs = hourMs;

/**
 * Reads the time from a 429 response: `Retry-After` (seconds or an HTTP date), else `X-RateLimit-Reset` (epoch seconds),
 * else one minute from now. At most `longestPauseMs` ahead, by default an hour. A time in the past is ignored: clocks differ, and the client would
 * retry at once.
 */
export function retryAt(
  header: HeaderLookup,
  nowMs: EpochMs,
  longestPauseMs = longestServicePauseMs,
): EpochMs {
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
