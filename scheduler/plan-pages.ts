/** Which pages of lists are to be asked for now: begins the polls that are due, and takes up the ones that are open. */

import type { EpochMs } from '../contract/intervals.ts';
import type { PollPage } from '../planning/polls.ts';
import { pageJobId } from '../queue/jobs.ts';
import { type Database, inTransaction } from '../store/database.ts';
import { beginPolls, cutOff, giveUpPolls, isCutOff, openPages } from '../store/snapshots/polls.ts';

/**
 * @param pass.claimed job ids of the pages in the queue, listed before this looks; what came since is not open any
 * more.
 */
export async function planPages(
  database: Database,
  pass: { claimed: ReadonlySet<string>; most: number; nowMs: EpochMs },
): Promise<PollPage[]> {
  const { claimed, most, nowMs } = pass;
  await beginPolls(database, nowMs);
  const pages: PollPage[] = [];
  for (const { answeredMs, ...page } of await openPages(database)) {
    if (claimed.has(pageJobId(page))) continue;
    if (isCutOff(answeredMs, nowMs)) {
      const given = { pollId: page.pollId, nowMs, reason: cutOff };
      await inTransaction(database, (client) => giveUpPolls(client, given));
    } else if (pages.length < most) pages.push(page);
  }
  return pages;
}
