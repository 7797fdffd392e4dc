/** Polls of lists: due ones are begun, their pages requested in order, and failed ones given up. */

import type pg from 'pg';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import type { ListName } from '../../model/lists/index.ts';
import { longestPauseMs, type PollPage } from '../../planning/polls.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { int4, int8, nullable, oneOf, statement, text, time } from '../db/statement.ts';

const isOpen = 'completed_at is null and given_up_at is null';

/**
 * Begins a poll of every list that is due: one interval after the last poll began, if that has ended, or at
 * the end of the pause after a failure. Two calls at once begin one poll.
 */
export const beginPolls = statement({
  name: 'begin-polls',
  text: `
    insert into tidemark.list_polls (list_id, begun_at)
    select l.id, $nowMs from tidemark.lists l
    left join lateral (
      select begun_at, ${isOpen} as is_open from tidemark.list_polls p where p.list_id = l.id
      order by begun_at desc limit 1
    ) p on true
    where l.untracked_at is null and p.is_open is not true
      and coalesce(l.retry_at, p.begun_at + l.every, $nowMs) <= $nowMs
    on conflict do nothing`,
  parameters: { nowMs: time },
});

export interface OpenPage extends PollPage {
  /** When the page before it came; null: it is the first. */
  readonly answeredMs: EpochMs | null;
}

const readOpenPages = statement({
  name: 'open-pages',
  text: `
    select p.id as "pollId", l.list as dataset, l.asset, p.answered_at as "answeredMs",
           (select coalesce(sum(rows), 0)::int from tidemark.poll_pages g where g.poll_id = p.id) as "firstRow"
    from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id
    where p.completed_at is null and p.given_up_at is null
    order by coalesce(p.answered_at, p.begun_at), p.id`,
  row: {
    ...{ pollId: int8, dataset: oneOf<ListName>(), asset: nullable(text), answeredMs: nullable(time), firstRow: int4 },
  },
});

/** The next page of every open poll; the one that has waited longest comes first. */
export async function openPages({ pool }: Database): Promise<OpenPage[]> {
  const pages = await readOpenPages.on(pool, {});
  return pages.map(({ dataset, asset, ...page }) => ({ ...page, list: { dataset, asset } }));
}

/** Whether another page now would be too far apart in time from the one before it. */
export function isCutOff(answeredMs: EpochMs | null, nowMs: EpochMs): boolean {
  return answeredMs !== null && nowMs - answeredMs > longestPauseMs;
}

export const cutOff = 'cut off between two pages';

const endPolls = statement({
  name: 'give-up-polls',
  text: `
    with ended as (
      update tidemark.list_polls set given_up_at = $nowMs, reason = $reason
      where (id = $pollId or list_id = $listId) and ${isOpen} returning id
    ), forgotten as (
      delete from tidemark.poll_pages where poll_id in (select id from ended)
    )
    select id from ended`,
  parameters: { pollId: nullable(int8), listId: nullable(int4), nowMs: time, reason: text },
  row: { id: int8 },
});

/** Ends a poll, or all open polls of a list, without completing it. Runs within the caller's transaction. */
export async function giveUpPolls(
  client: pg.PoolClient,
  given: ({ readonly pollId: number } | { readonly listId: number }) & { nowMs: EpochMs; reason: string },
): Promise<boolean> {
  const { nowMs, reason } = given;
  const polls = 'pollId' in given ? { pollId: given.pollId, listId: null } : { pollId: null, listId: given.listId };
  return (await endPolls.on(client, { ...polls, nowMs, reason: reason.slice(0, 1000) })).length > 0;
}

const pauseList = statement({
  name: 'pause-list',
  text: `
    update tidemark.lists l
       set retry_at = greatest(p.begun_at + l.every, least($latestMs, $nowMs + ($nowMs - coalesce(
             (select max(o.completed_at) from tidemark.list_polls o where o.list_id = l.id),
             (select min(o.begun_at) from tidemark.list_polls o where o.list_id = l.id)))))
      from tidemark.list_polls p where p.id = $pollId and l.id = p.list_id`,
  parameters: { pollId: int8, nowMs: time, latestMs: time },
});

/**
 * Gives up a failed poll. The pause is as long as the list has had no complete poll: after an outage of
 * minutes it is minutes, and a list that the source does not offer costs hardly any requests.
 *
 * @param failure.latestMs latest time of the next poll, unless the list is due later.
 */
export function failPoll(
  database: Database,
  failure: { pollId: number; message: string; nowMs: EpochMs; latestMs: EpochMs },
): Promise<boolean> {
  const { pollId, message, nowMs, latestMs } = failure;
  return inTransaction(database, async (client) => {
    if (!(await giveUpPolls(client, { pollId, nowMs, reason: message }))) return false;
    await pauseList.on(client, { pollId, nowMs, latestMs });
    return true;
  });
}

/**
 * Clocks differ by minutes. A time further ahead is invalid: it would stay the newest for ever, or no
 * database could hold it.
 */
const maxAheadMs = dayMs;

/** The source's time, or ours where the answer has none or an invalid one. */
export function pollTime(sourceTimeMs: EpochMs | null, nowMs: EpochMs): EpochMs {
  return sourceTimeMs === null || sourceTimeMs > nowMs + maxAheadMs ? nowMs : sourceTimeMs;
}
