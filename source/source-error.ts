/** Failures of an attempt at the source. workers/source-failure.ts decides what follows from each kind. */

import type { EpochMs } from '../contract/intervals.ts';

export const sourceErrorKinds = [
  /** No complete response: connection refused or reset, unknown host, truncated body. */
  'unreachable',
  /** The response was not complete within the timeout. */
  'timeout',
  /** Status 5xx. */
  'server_error',
  /** Status 429: retry at `retryAtMs`. */
  'rate_limited',
  /** Status 400 or another 4xx: the same request would be refused again. */
  'refused',
  /** Status 401 or 403. */
  'unauthorized',
  /** Status 404. See `unknownId`: during outages valid URLs answer 404 too. */
  'not_found',
  /** The body is larger than allowed. */
  'too_large',
  /** A service message: a text in place of the resource, `{"data": {"message": "…"}}`, as of a service that is being retired. */
  'notice',
  /** The source states that it lacks the range, or its statement cannot be parsed. */
  'incomplete',
  /** An answer that is not of this interface: HTML, broken JSON, an unexpected structure. */
  'unexpected',
] as const;

export type SourceErrorKind = (typeof sourceErrorKinds)[number];

export class SourceError extends Error {
  readonly kind: SourceErrorKind;
  /** HTTP status; null when no answer came. */
  readonly status: number | null;
  /** When the source accepts requests again. Only with `rate_limited`, and always then. */
  readonly retryAtMs: EpochMs | null;
  /** Whether the source's message states that the id is unknown. */
  readonly unknownId: boolean;
  readonly durationMs: number;
  /** Decoded size of the body, as far as it was read. */
  readonly bytes: number;
  /** The beginning of the body, on one line. Empty when there was none. */
  readonly body: string;

  /** @param details.message one line: the request, the failure, and the service's message if any. */
  constructor(details: Pick<SourceError, 'kind' | 'message'> & Partial<Omit<SourceError, 'name' | 'stack'>>) {
    super(details.message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = 'SourceError';
    this.kind = details.kind;
    this.status = details.status ?? null;
    this.retryAtMs = details.retryAtMs ?? null;
    this.unknownId = details.unknownId ?? false;
    this.durationMs = details.durationMs ?? 0;
    this.bytes = details.bytes ?? 0;
    this.body = details.body ?? '';
  }
}
