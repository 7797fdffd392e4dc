/** How an attempt at the source can end badly. Each kind asks for a reaction of its own from the caller. */

import type { EpochMs } from '../contract/intervals.ts';

export type SourceErrorKind =
  /** No answer: refused, reset, unresolvable, or cut off before the body was complete. */
  | 'unreachable'
  /** The answer was not complete within the deadline. */
  | 'timeout'
  /** Status 5xx. */
  | 'server_error'
  /** Status 429: come back at `retryAtMs`. */
  | 'rate_limited'
  /** Status 400, or another 4xx: the same request will be refused again. */
  | 'refused'
  /** Status 401 or 403. */
  | 'unauthorized'
  /** Status 404. See `unknownId`: during outages valid URLs answer 404 too. */
  | 'not_found'
  /** The body is larger than allowed. */
  | 'too_large'
  /** A message where a resource was due, `{"data": {"message": "…"}}`: how a service that is being retired answers. */
  | 'notice'
  /** The source says that it does not have the range itself, or says it in a way that cannot be read. */
  | 'incomplete'
  /** An answer, but not of this interface: HTML, broken JSON, something else where a list was due. */
  | 'unexpected';

export interface SourceErrorDetails {
  readonly kind: SourceErrorKind;
  /** One line: the request, what happened, and the service's own words if it gave any. */
  readonly message: string;
  /** HTTP status; null when no answer came. */
  readonly status?: number | null;
  /** When the source takes requests again. Only, and always, with `rate_limited`. */
  readonly retryAtMs?: EpochMs | null;
  /** The source said in its own words that it does not know the id. */
  readonly unknownId?: boolean;
  readonly durationMs?: number;
  /** Decoded size of the body, as far as it was read. */
  readonly bytes?: number;
  /** The beginning of the body, on one line. Empty when there was none. */
  readonly body?: string;
  readonly cause?: unknown;
}

export class SourceError extends Error {
  readonly kind: SourceErrorKind;
  readonly status: number | null;
  readonly retryAtMs: EpochMs | null;
  readonly unknownId: boolean;
  readonly durationMs: number;
  readonly bytes: number;
  readonly body: string;

  constructor(details: SourceErrorDetails) {
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
