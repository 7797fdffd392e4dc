/** What an answer with a status other than 200 means. */

import type { EpochMs } from '../contract/intervals.ts';
import { bodyToShow, type Reply, wordsToShow } from './attempt.ts';
import { retryAt } from './retry-at.ts';
import { type ServiceWords, saysUnknown, serviceWordsIn } from './service-words.ts';
import { SourceError, type SourceErrorKind } from './source-error.ts';

export function refusal(reply: Reply, nowMs: EpochMs): SourceError {
  const { name, status, durationMs } = reply;
  const words = serviceWordsIn(reply.body.toString('utf8'));
  const kind = kindOf(status, words);
  const body = bodyToShow(reply);
  const said = wordsToShow(reply, words.error ?? words.notice ?? redirection(reply) ?? body);
  return new SourceError({
    kind,
    message: `${name}: status ${status}${said === '' ? '' : `: ${said}`}`,
    status,
    retryAtMs: kind === 'rate_limited' ? retryAt(reply.header, nowMs) : null,
    unknownId: kind === 'not_found' && saysUnknown(words),
    durationMs,
    bytes: reply.body.length,
    body,
  });
}

function kindOf(status: number, words: ServiceWords): SourceErrorKind {
  if (status >= 500) return 'server_error';
  // A retired service answers everything like this, with 429 too. Waiting for room would wait for ever, in silence.
  if (words.notice !== null) return 'notice';
  if (status === 429) return 'rate_limited';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'not_found';
  // A gateway gave up waiting: the request itself is as good as before.
  if (status === 408) return 'timeout';
  if (status >= 400) return saysUnknown(words) ? 'not_found' : 'refused';
  return 'unexpected';
}

/** Redirects are not followed: the key would travel to whatever address they name. */
function redirection({ status, header }: Reply): string | null {
  const location = status >= 300 && status < 400 ? header('location') : undefined;
  return location === undefined ? null : `redirects to ${location}`;
}
