/**
 * The two queues and what is in them.
 *
 * Every job of `requests` costs one request at the source, and the limiter holds there. `planning` is for what
 * costs none: a planning tick must never take a place in the budget.
 */

import type { PollPage } from '../planning/polls.ts';
import type { Range } from '../planning/ranges.ts';
import type { Lane, Window } from '../planning/windows.ts';

export const queueNames = Object.freeze({ requests: 'requests', planning: 'planning' });

/** A window is a job named for its dataset, a page of a list for what it is; rates come whole, by the clock. */
export type RequestJob =
  | { readonly name: Window['series']['dataset']; readonly data: Window }
  | { readonly name: 'page'; readonly data: PollPage }
  | { readonly name: 'rates'; readonly data: Record<string, never> };

/**
 * Lower runs first. Every job has one, because a job without priority runs before all that have one. A poll asks
 * for the present like a refresh, and cannot be caught up on later; the pages of a list, which may be many, come
 * behind.
 *
 * A re-reading takes its turn among the backfill, of which the planner leaves it few places: behind it, a backfill of
 * days would put it off for days, and what the source changed meanwhile would never be seen. What a command asks for
 * comes last.
 */
export const priorities: Readonly<Record<Lane | 'poll' | 'page', number>> = Object.freeze({
  refresh: 1,
  poll: 1,
  page: 2,
  // The windows of its series wait for it.
  probe: 5,
  backfill: 10,
  reread: 10,
  repair: 20,
  verify: 20,
});

/** The id of a page's job. */
export function pageJobId({ pollId, firstRow }: Pick<PollPage, 'pollId' | 'firstRow'>): string {
  return `page_${pollId}_${firstRow}`;
}

type NamedWindow = Range & Pick<Window, 'seriesId'> & { readonly lane?: Lane; readonly run?: string };

/**
 * The id of a window's job, so that a window is never queued twice. BullMQ forbids colons and plain numbers. Whoever
 * fills no gap has ids apart: a window of the same bounds that does must not count for it.
 */
export function windowJobId(window: NamedWindow): string {
  const bounds = `${window.seriesId}_${window.startMs}_${window.endMs}`;
  const { lane, run } = window;
  if (lane === undefined || lane === 'refresh' || lane === 'backfill') return bounds;
  return run === undefined ? `${lane}_${bounds}` : `${lane}_${run}_${bounds}`;
}

/** The window that a job id names, with its lane and run where the id tells them; null for a poll. */
export function windowOfJobId(id: string): NamedWindow | null {
  const match = /^(?:(probe|reread|repair|verify)_(?:([0-9a-f]+)_)?)?(\d+)_(\d+)_(\d+)$/.exec(id);
  if (match === null) return null;
  return {
    seriesId: Number(match[3]),
    startMs: Number(match[4]),
    endMs: Number(match[5]),
    ...(match[1] === undefined ? {} : { lane: match[1] as Lane }),
    ...(match[2] === undefined ? {} : { run: match[2] }),
  };
}
