/**
 * The two queues and what is in them.
 *
 * Every job of `requests` costs one request at the source, and the limiter holds there. `planning` is for what
 * costs none: a planning tick must never take a place in the budget.
 */

import type { Range } from '../planning/ranges.ts';
import type { Lane, Window } from '../planning/windows.ts';

export const queueNames = Object.freeze({ requests: 'requests', planning: 'planning' });

/** A window is a job named for its dataset; a poll is named for the dataset it polls. */
export type RequestJob =
  | { readonly name: Window['series']['dataset']; readonly data: Window }
  | { readonly name: 'rates'; readonly data: Record<string, never> };

/**
 * Lower runs first. Every job has one, because a job without priority runs before all that have one. A poll asks
 * for the present like a refresh, and cannot be caught up on later.
 */
export const priorities: Readonly<Record<Lane | 'poll', number>> = Object.freeze({
  refresh: 1,
  poll: 1,
  // The windows of its series wait for it.
  probe: 5,
  backfill: 10,
});

type NamedWindow = Range & Pick<Window, 'seriesId'> & { readonly lane?: Lane };

/**
 * The id of a window's job, so that a window is never queued twice. BullMQ forbids colons and plain numbers. Whoever fills
 * no gap has ids apart: a window of the same bounds that does must not count for it.
 */
export function windowJobId({ seriesId, startMs, endMs, lane }: NamedWindow): string {
  const bounds = `${seriesId}_${startMs}_${endMs}`;
  return lane === 'probe' ? `${lane}_${bounds}` : bounds;
}

/** The window that a job id names, with its lane where the id tells it; null for a poll. */
export function windowOfJobId(id: string): NamedWindow | null {
  const match = /^(?:(probe)_)?(\d+)_(\d+)_(\d+)$/.exec(id);
  if (match === null) return null;
  return {
    seriesId: Number(match[2]),
    startMs: Number(match[3]),
    endMs: Number(match[4]),
    ...(match[1] === undefined ? {} : { lane: match[1] as Lane }),
  };
}
