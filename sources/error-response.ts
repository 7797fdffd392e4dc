/** Classifies responses with a status other than 200, and service messages; reads when to retry. */

import { type EpochMs, hourMs } from '../model/intervals.ts';
import { bodyToShow, type Reply, withoutTags, wordsToShow } from './attempt.ts';
import { parseExactJson } from './json.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

/** @param forbidden what a 403 in the words of the interface refuses. */
export function refusal(
  reply: Reply,
  nowMs: EpochMs,
  forbidden: 'series_refused' | 'unauthorized' = 'series_refused',
): SourceError {
  const words = messagesOfBody(reply.body.toString('utf8'));
  const kind = kindOf(reply, words, forbidden);
  return replyError(reply, {
    kind,
    said: words.error ?? words.serviceMessage,
    retryAtMs: retryAt(reply, nowMs),
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
  const namesLength = lengthWords.test(said);
  return new SourceError({ kind, message, status, retryAtMs, unknownId, namesLength, durationMs, bytes, body, cause });
}

/** Words of refusals that concern the length of the range. */
const lengthWords = /range|too (?:long|large|many|big)|limit|exceed|span|maximum|window|period|days/i;

function kindOf(reply: Reply, words: StatedMessages, forbidden: SourceErrorKind): SourceErrorKind {
  const { status } = reply;
  // A retired service may answer everything so, with 429 too. Waiting for the budget would wait forever.
  if (status < 500 && words.serviceMessage !== null) return 'notice';
  const kind = kindOfReply(reply);
  // A firewall does not speak the interface's JSON.
  if (kind === 'address_refused' && words.error !== null) return forbidden;
  return kind === 'refused' && statesUnknownId(words) ? 'not_found' : kind;
}

/** Such as CloudFront's "configured to block access from your country". */
const namesCountry = /\b(?:country|countries|region|restricted location|jurisdiction)\b/i;
const namesKey = /\b(?:api[ -]?key|subscription|credits?|quota|plan)\b/i;

/** What a status other than 200 means everywhere; of 403 also its words. */
export function kindOfReply({ status, body }: Pick<Reply, 'status' | 'body'>): SourceErrorKind {
  if (status >= 500) return 'server_error';
  if (status === 429) return 'rate_limited';
  if (status === 401 || status === 402) return 'unauthorized';
  if (status === 403) {
    const text = withoutTags(body.toString('utf8'));
    if (namesCountry.test(text)) return 'country_refused';
    return namesKey.test(text) ? 'unauthorized' : 'address_refused';
  }
  if (status === 451) return 'country_refused';
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
  return { error: error ?? textAt(value, 'message'), serviceMessage: textAt(fieldOf(value, 'data'), 'message') };
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

/**
 * A pause stops every worker. A Market Data Service that asks for days is wrong, and one request an hour costs nothing.
 */
export const longestServicePauseMs = hourMs;

/**
 * When the source accepts requests again: by `Retry-After` (seconds or an HTTP date), of a 429 else by
 * `X-RateLimit-Reset` (epoch seconds). At most `longestPauseMs` ahead, by default an hour. A time in the past is
 * ignored: clocks differ, and the client would retry at once.
 *
 * @returns null when it does not say.
 */
export function retryAt(
  { header, status }: Pick<Reply, 'header' | 'status'>,
  nowMs: EpochMs,
  longestPauseMs = longestServicePauseMs,
): EpochMs | null {
  const moments = [retryAfter(header('retry-after'), nowMs)];
  if (status === 429) moments.push(rateLimitReset(header('x-ratelimit-reset')));
  const named = moments.find((momentMs) => momentMs !== null && momentMs > nowMs);
  return named == null ? null : Math.min(named, nowMs + longestPauseMs);
}

/** The moment of a `Retry-After`; null: it has none. */
export function retryAfter(value: string | undefined, nowMs: EpochMs): EpochMs | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d+(?:\.\d+)?$/.test(text)) return nowMs + Math.ceil(Number(text) * 1000);
  // Only the format of HTTP ("Sun, 06 Nov 1994 08:49:37 GMT"): Date.parse also accepts "5" and "-1".
  const dateMs = /^[A-Za-z]{3}, \d{2} [A-Za-z]{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(dateMs) ? null : dateMs;
}

function rateLimitReset(value: string | undefined): EpochMs | null {
  return value !== undefined && /^\d+(?:\.\d+)?$/.test(value.trim()) ? Math.ceil(Number(value) * 1000) : null;
}
