/** What is known of a source that does not answer, in words. */

import { formatDuration, formatTime } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import { printable } from '../model/names.ts';
import { defaultSource, sourceText } from '../model/sources.ts';

/**
 * Kinds of failures that say something about the source, and not about the request. `not_found` is a 404 that names no
 * id, as sources in trouble send on valid paths; an unknown id is another kind.
 */
export const sourceTrouble = [
  'unreachable',
  'timeout',
  'server_error',
  'unexpected',
  'not_found',
  'notice',
  'unauthorized',
  'address_refused',
  'country_refused',
] as const;

/** Those of which one is enough: the source refuses every request. */
export const refusalKinds: readonly string[] = [
  'notice',
  'unauthorized',
  'address_refused',
  'country_refused',
] satisfies (typeof sourceTrouble)[number][];

export interface SourceOutage {
  readonly source: string;
  /** The first failure since the last successful request. */
  readonly sinceMs: EpochMs;
  readonly lastTriedMs: EpochMs;
  readonly kind: (typeof sourceTrouble)[number];
  /** Of the last failure. */
  readonly message: string;
}

export interface ExplainedOutage extends SourceOutage {
  /** A worker tries again at this time; null: no worker is connected. */
  readonly retryAtMs: EpochMs | null;
}

/** The default source is a Market Data Service. */
const ofDefault: Readonly<Partial<Record<SourceOutage['kind'], string>>> = Object.freeze({
  unexpected: 'does not answer as a Market Data Service',
  not_found: 'does not know the addresses of a Market Data Service',
  unauthorized: 'refuses the API key',
});

const whatFails: Readonly<Record<SourceOutage['kind'], string>> = Object.freeze({
  unreachable: 'is unreachable',
  timeout: 'does not answer in time',
  server_error: 'fails',
  unexpected: 'is answering unusably',
  not_found: 'does not know the addresses of its profile',
  notice: 'answers with a service message',
  unauthorized: 'refuses its API key',
  address_refused: 'refuses this address',
  country_refused: 'does not serve the country of this address',
});

/** Such as `the source is unreachable since 2026-01-31 06:00Z: connect ECONNREFUSED; retry in 12 s`. */
export function outageText(outage: ExplainedOutage, nowMs: EpochMs): string {
  const { lastTriedMs, retryAtMs } = outage;
  const next =
    retryAtMs === null
      ? `last tried ${formatDuration(Math.max(0, nowMs - lastTriedMs))} ago, no worker is connected`
      : retryAtMs - nowMs < 1000
        ? 'retrying now'
        : `retry in ${formatDuration(retryAtMs - nowMs)}`;
  return `${outageSince(outage)}; ${next}`;
}

/** Without the next try: the text stays the same as long as the outage. @param name of the source. */
export function outageSince({ source, kind, sinceMs, message }: SourceOutage, name = sourceText(source)): string {
  const what = (source === defaultSource ? ofDefault[kind] : undefined) ?? whatFails[kind];
  return `${name} ${what} since ${formatTime(sinceMs)}: ${printable(message)}`;
}
