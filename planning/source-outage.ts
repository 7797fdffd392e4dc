/** What is known of a source that does not answer, in words. */

import { formatDuration, formatTime, wholeSecond } from '../model/format.ts';
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

/** Longest pause between two requests to a source that does not answer. */
export const longestPauseMs = 10_000;

export interface SourceOutage {
  readonly source: string;
  /** Its first failure. */
  readonly sinceMs: EpochMs;
  /** The first failure since the last successful request: later, where outages less than a minute apart are one. */
  readonly failingSinceMs: EpochMs;
  readonly lastTriedMs: EpochMs;
  readonly kind: (typeof sourceTrouble)[number];
  /** Of the last failure. */
  readonly message: string;
}

/** The last request, of a source that is not away: no answer came, and it is asked again. */
export interface Unanswered {
  readonly source: string;
  readonly failedAtMs: EpochMs;
  readonly kind: (typeof silentKinds)[number];
  readonly message: string;
  /** From when on it is. */
  readonly retryAtMs: EpochMs;
}

/** Kinds of failures in which no answer came. */
export const silentKinds = ['unreachable', 'timeout'] as const satisfies ReadonlyArray<(typeof sourceTrouble)[number]>;

const retryBaseMs = 1000;
const longestRetryMs = 60_000;

/** Longest pause before the next attempt of a request whose attempt has failed: from one second to one minute. */
export function longestBackoffMs(attempt: number): number {
  return Math.min(longestRetryMs, retryBaseMs * 2 ** (attempt - 1));
}

/** `the last request to kraken timed out at 2026-01-31 06:00Z: no complete answer …; it is asked again …`. */
export function unansweredText(one: Unanswered, name = sourceText(one.source)): string {
  const how = one.kind === 'timeout' ? 'timed out' : 'did not arrive';
  const at = formatTime(wholeSecond(one.failedAtMs));
  return `the last request to ${name} ${how} at ${at}: ${printable(one.message)}; asked again ${againText(one)}`;
}

/** Rounded up: the request does not come before. */
export function againText({ retryAtMs }: Pick<Unanswered, 'retryAtMs'>): string {
  return `from ${formatTime(Math.ceil(retryAtMs / 1000) * 1000)} on`;
}

export interface ExplainedOutage extends SourceOutage {
  /** The source refuses all requests, and none is sent before; null: it only does not answer. */
  readonly refusedUntilMs: EpochMs | null;
  /** Null: the queue does not say. */
  readonly workers: number | null;
  /** A worker tries again at this time; null: none is connected, or the queue does not say. */
  readonly retryAtMs: EpochMs | null;
}

/** While all requests are paused. */
export const everyHold = 'requests are resumed';

/**
 * What has to come before a source is asked, as a clause: `kraken is resumed`; null: nothing.
 *
 * @param name of the source, in a sentence.
 */
export function holdText(
  source: string,
  state: {
    readonly isPaused: boolean;
    readonly isAway: boolean;
    readonly refusedUntilMs: EpochMs | null;
    /** The queue says so. */
    readonly hasNoWorker: boolean;
  },
  name = sourceText(source),
): string | null {
  if (state.isPaused) return `${name} is resumed`;
  if (state.isAway) return `${name} answers`;
  if (state.refusedUntilMs !== null)
    return `${name} accepts requests, ${formatTime(wholeSecond(state.refusedUntilMs))}`;
  return state.hasNoWorker ? `a worker is connected${forSource(source, name)}` : null;
}

/** Such as `no worker is connected for kraken`. @param name of the source, in a sentence. */
export function withoutWorkerText(source: string, name = sourceText(source)): string {
  return `no worker is connected${forSource(source, name)}`;
}

/** The only source needs no name. */
const forSource = (source: string, name: string) =>
  source === defaultSource && name === sourceText(source) ? '' : ` for ${name}`;

/** The default source is a Market Data Service. */
const ofDefault: Readonly<Partial<Record<SourceOutage['kind'], string>>> = Object.freeze({
  unexpected: 'does not answer as a Market Data Service',
  not_found: 'does not know the addresses of a Market Data Service',
  unauthorized: 'refuses the API key or its plan',
});

/** What a source does, as after its name. */
export const whatFails: Readonly<Record<SourceOutage['kind'], string>> = Object.freeze({
  unreachable: 'is unreachable',
  timeout: 'does not answer in time',
  server_error: 'fails',
  unexpected: 'is answering unusably',
  not_found: 'does not know the addresses of its profile',
  notice: 'answers with a service message',
  unauthorized: 'refuses its API key or plan',
  address_refused: 'refuses this address',
  country_refused: 'does not serve the country of this address',
});

/**
 * Such as `the source is unreachable since 2026-01-31 06:00Z: connect ECONNREFUSED; tried again within 10 s`.
 *
 * @param name of the source, in a sentence.
 */
export function outageText(outage: ExplainedOutage, nowMs: EpochMs, name = sourceText(outage.source)): string {
  const { lastTriedMs, retryAtMs, workers } = outage;
  const missing = workers === null ? 'the queue does not answer' : 'no worker is connected';
  const next =
    retryAtMs === null
      ? `last tried ${formatDuration(Math.max(0, nowMs - lastTriedMs))} ago, ${missing}`
      : nextTry(outage.refusedUntilMs);
  return `${outageSince(outage, name)}; ${next}`;
}

/**
 * While workers take requests. The text stays the same from one try to the next.
 *
 * @param refusedUntilMs null: the source refuses nothing.
 */
export function nextTry(refusedUntilMs: EpochMs | null): string {
  return refusedUntilMs === null
    ? `tried again within ${formatDuration(longestPauseMs)}`
    : `retry at ${formatTime(wholeSecond(refusedUntilMs))}`;
}

/** Without the next try: the text stays the same as long as the outage. @param name of the source. */
export function outageSince({ source, kind, sinceMs, message }: SourceOutage, name = sourceText(source)): string {
  const what = (source === defaultSource ? ofDefault[kind] : undefined) ?? whatFails[kind];
  return `${name} ${what} since ${formatTime(sinceMs)}: ${printable(message)}`;
}
