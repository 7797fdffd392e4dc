/**
 * What an attempt that failed at the source calls for.
 *
 *   rate_limited             the whole queue waits until the source takes requests again
 *   notice                   the source says something in place of data, such as that it is being retired: the whole
 *                            queue waits, for a minute and then longer each time, up to an hour
 *   unauthorized (401)       the whole queue waits a minute: no window can succeed until someone mends the key
 *   unreachable, timeout,    another attempt, later each time; the window is put aside when none is left. A text 404
 *   server_error, unexpected,  belongs here: sources in trouble answer it on valid addresses
 *   too_large, text 404
 *   not_found in JSON words  one more attempt; when that or another window of the series is answered so too, the
 *                            series is left alone for an hour
 *   incomplete               the source says that it does not have the window itself: the window is put aside at once,
 *                            for longer each time (store/missing-there.ts)
 *   refused                  400 may be about the length of the range: less of it is asked for (range-trials.ts)
 *   refused, 403             the same request will be refused again: the window is put aside at once
 */

import type { EpochMs } from '../contract/intervals.ts';
import type { SourceError } from '../source/source-error.ts';

export type Reaction =
  /** Pause the queue and put the job back. */
  | { readonly kind: 'pause'; readonly forMs: number }
  | { readonly kind: 'retry'; readonly inMs: number }
  /** Ask for less of the window at once; the attempt does not count. */
  | { readonly kind: 'less' }
  /** Put the window aside: it stays a gap, shown with its reason. */
  | { readonly kind: 'defer'; readonly forMs: number }
  /** Ask for no window of the series. */
  | { readonly kind: 'block'; readonly forMs: number };

const unauthorizedPauseMs = 60_000;
const unknownIdMs = 3_600_000;
const firstRetryMs = 1000;
const longestRetryMs = 60_000;
/** A limited source that says it takes requests again now is given a moment all the same. */
const shortestPauseMs = 1000;

export function reactionTo(
  error: Pick<SourceError, 'kind' | 'status' | 'unknownId' | 'retryAtMs'>,
  context: {
    readonly attempt: number;
    readonly last: boolean;
    /** Whether the source said before that it does not know this series, to whichever window. */
    readonly unknownBefore: boolean;
    readonly failedRetryMs: number;
    /** How long to leave alone what the source does not have itself. */
    readonly missingPauseMs: number;
    /** How long to leave a source alone that answers with a notice. */
    readonly noticePauseMs: number;
    /** Whether a refused range is worth asking for in part. */
    readonly asksForLess: boolean;
    readonly nowMs: EpochMs;
    /** From 0 to 1: spreads the retries of windows that failed together. */
    readonly random: number;
  },
): Reaction {
  const putAside: Reaction = { kind: 'defer', forMs: context.failedRetryMs };
  switch (error.kind) {
    case 'rate_limited': {
      const untilMs = error.retryAtMs ?? context.nowMs + 60_000;
      return { kind: 'pause', forMs: Math.max(shortestPauseMs, untilMs - context.nowMs) };
    }
    case 'notice':
      return { kind: 'pause', forMs: Math.max(shortestPauseMs, context.noticePauseMs) };
    case 'unauthorized':
      // 401 is about the key, 403 about what was asked for: other series may be allowed.
      if (error.status === 403) return putAside;
      return { kind: 'pause', forMs: unauthorizedPauseMs };
    case 'incomplete':
      return { kind: 'defer', forMs: context.missingPauseMs };
    case 'refused':
      return context.asksForLess ? { kind: 'less' } : putAside;
    case 'not_found':
      if (error.unknownId && context.unknownBefore) return { kind: 'block', forMs: unknownIdMs };
      break;
    default:
      break;
  }
  if (context.last) return putAside;
  return { kind: 'retry', inMs: backoffMs(context.attempt, context.random) };
}

/**
 * Statuses of a request that is not as the source wants it, be it for its length; not of one that it will not answer.
 */
const malformed: readonly (number | null)[] = [400, 413, 414, 416, 422];

export function mayBeAboutLength(error: Pick<SourceError, 'kind' | 'status'>): boolean {
  return error.kind === 'refused' && malformed.includes(error.status);
}

/**
 * Whether the error says something about the source rather than about what was asked for. A maintenance page comes
 * with any status, 200 too.
 */
export function isOutage(error: Pick<SourceError, 'kind' | 'unknownId'>): boolean {
  if (error.kind === 'not_found') return !error.unknownId;
  return ['unreachable', 'timeout', 'server_error', 'unexpected'].includes(error.kind);
}

/** Doubles from a second up to a minute; between half and all of that, so that retries do not come in a bunch. */
export function backoffMs(attempt: number, random: number): number {
  const longest = Math.min(longestRetryMs, firstRetryMs * 2 ** (attempt - 1));
  return Math.round(longest / 2 + (longest / 2) * random);
}
