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
  backfill: 10,
});

/** The id of a window's job, so that a window is never queued twice. BullMQ forbids colons and plain numbers. */
export function windowJobId(window: Range & { readonly seriesId: number }): string {
  return `${window.seriesId}_${window.startMs}_${window.endMs}`;
}

/** The window that a job id names; null for a poll. */
export function windowOfJobId(id: string): (Range & { readonly seriesId: number }) | null {
  const match = /^(\d+)_(\d+)_(\d+)$/.exec(id);
  if (match === null) return null;
  return { seriesId: Number(match[1]), startMs: Number(match[2]), endMs: Number(match[3]) };
}
