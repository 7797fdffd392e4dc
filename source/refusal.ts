/** Classifies responses with a status other than 200, and messages in place of a resource. */

import type { EpochMs } from '../contract/intervals.ts';
import { bodyToShow, type Reply, wordsToShow } from './attempt.ts';
import { parseExactJson } from './json.ts';
import { retryAt } from './retry-at.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

export function refusal(reply: Reply, nowMs: EpochMs): SourceError {
  const { name, status, durationMs } = reply;
  const words = messagesOfBody(reply.body.toString('utf8'));
  const kind = kindOf(status, words);
  const body = bodyToShow(reply);
  const said = wordsToShow(reply, words.error ?? words.notice ?? redirection(reply) ?? body);
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

function kindOf(status: number, words: ServiceMessages): SourceErrorKind {
  if (status >= 500) return 'server_error';
  // A retired service may answer everything so, with 429 too. Waiting for the budget would wait forever.
  if (words.notice !== null) return 'notice';
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

export interface ServiceMessages {
  /** `{"error": "…"}` and similar forms. */
  readonly error: string | null;
  /** `{"data": {"message": "…"}}`, the answer of a service that is being retired. */
  readonly notice: string | null;
}

/** Messages of a parsed answer. */
export function messagesOf(value: unknown): ServiceMessages {
  const error = textAt(value, 'error') ?? textAt(fieldOf(value, 'error'), 'message');
  return { error: error ?? textAt(value, 'message'), notice: textAt(fieldOf(value, 'data'), 'message') };
}

/** Messages of a body, which may not be JSON. */
function messagesOfBody(text: string): ServiceMessages {
  try {
    return messagesOf(parseExactJson(text));
  } catch {
    return { error: null, notice: null };
  }
}

/** Whether a message states that the id is unknown: `<id> not found`. */
export function statesUnknownId(words: ServiceMessages): boolean {
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
