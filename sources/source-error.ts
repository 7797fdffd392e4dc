/** Failures of an attempt at the source. workers/source-failure.ts decides what follows from each kind. */

import type { EpochMs } from '../model/intervals.ts';
import type { ReplyFacts } from '../planning/answer.ts';

export const sourceErrorKinds = [
  /** No response: connection refused or reset, unknown host. */
  'unreachable',
  /** The response was not complete within the timeout. */
  'timeout',
  /** Status 5xx. */
  'server_error',
  /** Status 429, or a ban that names its end: too many requests of this address or key. */
  'rate_limited',
  /** Status 400 or another 4xx: the same request would be refused again. */
  'refused',
  /** Status 403 that names the resource: other series may be allowed. */
  'series_refused',
  /** Status 401 or 402: the API key, or what its plan includes. */
  'unauthorized',
  /** Status 403 of a firewall: this address, for a while. */
  'address_refused',
  /** Status 451, or words of that kind: the country of this address. */
  'country_refused',
  /** Status 404. See `unknownId`: during outages valid URLs answer 404 too. */
  'not_found',
  /** The body is larger than allowed. */
  'too_large',
  /**
   * A service message: a text in place of the resource, `{"data": {"message": "…"}}`, as of a service that is being
   * retired.
   */
  'notice',
  /** The source states that it lacks the range, or its statement cannot be parsed. */
  'incomplete',
  /** An answer that is not of this interface, or breaks off: HTML, broken JSON, an unexpected structure. */
  'unexpected',
] as const;

export type SourceErrorKind = (typeof sourceErrorKinds)[number];

/** Kinds that concern the key, the address or the country: every other request would be refused too. */
export function refusesAll(kind: SourceErrorKind): boolean {
  return ['rate_limited', 'unauthorized', 'address_refused', 'country_refused', 'notice'].includes(kind);
}

/** Whether the source has answered this request, and would answer others. */
export function concernsRequest({ kind, unknownId }: Pick<SourceError, 'kind' | 'unknownId'>): boolean {
  return unknownId || ['refused', 'series_refused', 'incomplete', 'too_large'].includes(kind);
}

export class SourceError extends Error {
  readonly kind: SourceErrorKind;
  /** HTTP status; null when no answer came. */
  readonly status: number | null;
  /** Whether a connection was made. A request that was not sent costs nothing. */
  readonly isSent: boolean;
  /** When the source accepts requests again, as it states itself; null: it does not. */
  readonly retryAtMs: EpochMs | null;
  /** Whether the source's message states that the id is unknown. */
  readonly unknownId: boolean;
  /** Whether the words of a refusal concern the length of the range. */
  readonly namesLength: boolean;
  readonly durationMs: number;
  /** Decoded size of the body, as far as it was read. */
  readonly bytes: number;
  /** The beginning of the body, on one line. Empty when there was none. */
  readonly body: string;
  /** Of the checksum that was answered before the request failed; null: none was. */
  readonly checksum: ReplyFacts | null;

  /** @param details.message one line: the request, the failure, and the service's message if any. */
  constructor(details: Pick<SourceError, 'kind' | 'message'> & Partial<Omit<SourceError, 'name' | 'stack'>>) {
    super(details.message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = 'SourceError';
    this.kind = details.kind;
    this.status = details.status ?? null;
    this.isSent = details.isSent ?? true;
    this.retryAtMs = details.retryAtMs ?? null;
    this.unknownId = details.unknownId ?? false;
    this.namesLength = details.namesLength ?? false;
    this.durationMs = details.durationMs ?? 0;
    this.bytes = details.bytes ?? 0;
    this.body = details.body ?? '';
    this.checksum = details.checksum ?? null;
  }
}
