/**
 * Polls of lists, page by page.
 *
 *   open       Its next page is to be requested: the rows after the last ones. One page at a time.
 *   complete   The last page came. Entries that no page listed are missing.
 *   given up   It was interrupted for so long that its pages would be of different times, or all attempts failed, or
 *              its first page was a stale copy. Its rows are kept; missing entries are not determined.
 *
 * The state is in the database: after a crash or a flushed queue the next page of an open poll is requested again.
 */

import { minuteMs } from '../model/intervals.ts';
import { lists, type PolledList } from '../model/lists/index.ts';

/** One page of a poll: one request. */
export interface PollPage {
  readonly pollId: number;
  readonly list: PolledList;
  /** Rows of the list before this page. */
  readonly firstRow: number;
}

/** Rows to request; null: the list has no pages. */
export function rowsAskedFor({ dataset }: PolledList): number | null {
  return lists[dataset].pageRows;
}

/** Longest time between two pages of a poll. Rows shift while they are read, and a poll has one time. */
export const longestPauseMs = 10 * minuteMs;

/**
 * Whether this is the last page of the list.
 *
 * A page that is shorter than requested may be the last one, or one that the source truncated. Taking a truncated page
 * for the last would mark all following entries as gone. So a short page counts only if the source is known to return
 * larger ones, and the poll has found at least as many rows as the previous one. Otherwise the next page is requested.
 * The list ends at a page without new rows: it is empty, or the source ignores `offset` and starts again.
 */
export function isLastPage(page: {
  /** Requested rows; null: the list has no pages. */
  readonly asked: number | null;
  /** Received rows. */
  readonly received: number;
  /** Rows that the poll did not have before. */
  readonly fresh: number;
  /** Distinct rows of the poll, including this page. */
  readonly total: number;
  /** Distinct rows of the previous complete poll; null: none. */
  readonly totalBefore: number | null;
  /** Rows of the largest page of similar lists, in this poll or the newest complete ones. */
  readonly largestPage: number;
}): boolean {
  if (page.asked === null || page.fresh === 0) return true;
  if (page.received >= page.asked) return false;
  return page.totalBefore !== null && page.total >= page.totalBefore && page.received < page.largestPage;
}

/**
 * Whether so many entries are missing at once that two polls in a row are no proof: during an outage a source answers
 * 200 with an empty list or an empty page.
 */
export function isOutageLike(missing: number, listed: number): boolean {
  return missing > 10 && missing * 10 > listed;
}
