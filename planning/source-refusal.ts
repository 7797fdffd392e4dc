/**
 * When requests may reach a source that has refused them all: its key, its address or its country is refused, or its
 * limit is exceeded. After the pause one request goes alone, and the others follow when it succeeds.
 */

import { type EpochMs, hourMs, minuteMs } from '../model/intervals.ts';

export interface SourceRefusal {
  /** Kind of the error. */
  readonly kind: string;
  readonly message: string;
  /** The last refusal. */
  readonly atMs: EpochMs;
  /** Refusals without a success in between. */
  readonly inARow: number;
  /** No request before. */
  readonly untilMs: EpochMs;
  /** A request is under way alone, at the longest until then; null: none is. */
  readonly aloneUntilMs: EpochMs | null;
  /** When a request succeeded; null: none has yet. */
  readonly acceptedAtMs: EpochMs | null;
}

/** The first and the longest pause where the source does not state when it accepts requests again. */
const refusalPauses: { readonly firstMs: number; readonly longestMs: number } = Object.freeze({
  firstMs: minuteMs,
  longestMs: hourMs,
});
/** Shortest pause, even if the source states that it accepts requests now. */
const shortestPauseMs = 1000;
/** A source that refuses again so soon after a success has not changed its mind. */
const sameWithinMs = 10 * minuteMs;
/** A request that goes alone ends within this time, or its process was killed. */
const longestAloneMs = 2 * minuteMs;
/** How long the others wait before they look again. */
const aloneMs = 1000;

/**
 * The state after a refusal. The pause is the one that the source states, the first time even if it is short; else it
 * doubles with each refusal in a row. So at most three requests are sent within ten minutes.
 *
 * @param failure.startedMs when its request began. @param failure.retryAtMs as the source states it; null: it does not.
 */
export function afterRefusal(
  before: SourceRefusal | null,
  failure: {
    readonly kind: string;
    readonly message: string;
    readonly startedMs: EpochMs;
    readonly nowMs: EpochMs;
    readonly retryAtMs: EpochMs | null;
  },
  { firstMs, longestMs } = refusalPauses,
): SourceRefusal {
  const { kind, message, startedMs, nowMs, retryAtMs } = failure;
  // Its request was under way when another one was refused.
  if (before !== null && before.acceptedAtMs === null && startedMs <= before.atMs)
    return { ...before, untilMs: Math.max(before.untilMs, retryAtMs ?? before.untilMs) };
  const isSame =
    before !== null &&
    (before.acceptedAtMs === null || (kind !== 'rate_limited' && nowMs - before.acceptedAtMs < sameWithinMs));
  const inARow = isSame ? before.inARow + 1 : 1;
  const grownMs = Math.min(longestMs, firstMs * 2 ** (inARow - 1));
  const statedMs = retryAtMs === null ? 0 : Math.max(shortestPauseMs, retryAtMs - nowMs);
  const pauseMs = inARow === 1 && retryAtMs !== null ? statedMs : Math.max(statedMs, grownMs);
  const untilMs = nowMs + pauseMs;
  return { kind, message, atMs: nowMs, inARow, untilMs, aloneUntilMs: null, acceptedAtMs: null };
}

export type Entry =
  /** Requests are sent. */
  | { readonly kind: 'open' }
  /** This one is sent alone. */
  | { readonly kind: 'alone' }
  | { readonly kind: 'wait'; readonly forMs: number };

/** Whether a request may be sent. */
export function entryOf(refusal: SourceRefusal | null, nowMs: EpochMs): Entry {
  if (refusal === null || refusal.acceptedAtMs !== null) return { kind: 'open' };
  if (nowMs < refusal.untilMs) return { kind: 'wait', forMs: refusal.untilMs - nowMs };
  if (refusal.aloneUntilMs !== null && nowMs < refusal.aloneUntilMs) return { kind: 'wait', forMs: aloneMs };
  return { kind: 'alone' };
}

export const beginAlone = (refusal: SourceRefusal, nowMs: EpochMs): SourceRefusal => ({
  ...refusal,
  aloneUntilMs: nowMs + longestAloneMs,
});

/** After a request that went alone and got no usable answer: a firewall may drop what it refused before. */
export const afterSilence = (refusal: SourceRefusal, nowMs: EpochMs): SourceRefusal =>
  refusal.kind === 'rate_limited'
    ? afterNoAnswer(refusal, nowMs)
    : afterRefusal(refusal, { ...refusal, startedMs: nowMs, nowMs, retryAtMs: null });

/** After a request that went alone and was stopped: another one follows after a moment. */
export const afterNoAnswer = (refusal: SourceRefusal, nowMs: EpochMs): SourceRefusal => ({
  ...refusal,
  untilMs: Math.max(refusal.untilMs, nowMs + aloneMs),
  aloneUntilMs: null,
});

export const afterAcceptance = (refusal: SourceRefusal, nowMs: EpochMs): SourceRefusal => ({
  ...refusal,
  aloneUntilMs: null,
  acceptedAtMs: nowMs,
});

/**
 * Whether somebody may have removed the cause since: a key, a plan, another address, a service message. A ban has to
 * end by itself.
 */
export const mayBeMended = ({ kind }: SourceRefusal): boolean =>
  ['unauthorized', 'country_refused', 'notice'].includes(kind);
