/**
 * Polls of lists, page by page.
 *
 *   open        Its next page is to be asked for: the row behind the last that came. One page at a time.
 *   complete    The last page came. What it did not list is missing.
 *   given up    It was cut off for so long that its pages would be of different times, or failed on every attempt, or
 *               its first page was a copy of an older answer. What its pages brought is kept; who is missing is not
 *               asked.
 *
 * All of it is in the database: a crash or a flushed queue leaves an open poll, whose next page is asked for again.
 */

import { minuteMs } from '../contract/intervals.ts';
import { pageSize } from '../contract/limits.ts';
import type { SnapshotList } from '../contract/lists.ts';

/** One page of a poll: one request. */
export interface PollPage {
  readonly pollId: number;
  readonly list: SnapshotList;
  /** How many rows of the list lie before it. */
  readonly firstRow: number;
}

/** Rows to ask for in a page; null: the list comes whole (specification, section 4: no parameters). */
export function rowsAskedFor({ dataset }: SnapshotList): number | null {
  return dataset === 'exchanges' ? null : pageSize.maximum;
}

/** Longest time between two pages of a poll. Ranks and rows shift while they are read, and all of it has one time. */
export const longestPauseMs = 10 * minuteMs;

/**
 * Whether the list ends with this page.
 *
 * A page that is shorter than was asked for may be the last, or one that the source capped in silence: taken for the
 * last, a capped one would make all that follow look gone. So a short page counts only if the source is known to give
 * larger ones, and if the poll has found no less than the one before. Otherwise the next page is asked for, and the
 * list ends where a page brings nothing new: it is empty, or the source does not heed `offset` and begins again.
 */
export function isLastPage(page: {
  /** Rows asked for; null: the list comes whole. */
  readonly asked: number | null;
  /** Rows that came. */
  readonly received: number;
  /** Of those, rows that the poll has not had before. */
  readonly fresh: number;
  /** Different rows of the poll so far, with this page. */
  readonly total: number;
  /** Those of the complete poll before; null: there is none. */
  readonly totalBefore: number | null;
  /** Rows of the largest page of such lists, in this poll or the newest complete ones. */
  readonly largestPage: number;
}): boolean {
  if (page.asked === null || page.fresh === 0) return true;
  if (page.received >= page.asked) return false;
  return page.totalBefore !== null && page.total >= page.totalBefore && page.received < page.largestPage;
}

/**
 * Whether so many of a list are missing at once that two polls shortly after one another are no proof: an outage
 * answers 200 with an empty list, or lets a page in the middle be empty.
 */
export function isOutageLike(missing: number, listed: number): boolean {
  return missing > 10 && missing * 10 > listed;
}
