/**
 * Commits a page: its changes, its entries, the poll's progress and the ledger in one transaction, and with the last
 * page the end of the poll. After a crash at any instant a page is stored completely, or is requested again.
 */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import type { ListRow } from '../../model/lists/index.ts';
import { type Answer, rejectionOf } from '../../planning/answer.ts';
import { isLastPage, type PollPage, rowsAskedFor } from '../../planning/polls.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { bool, int4, int8, listOf, nullable, statement, time } from '../db/statement.ts';
import { timestamp } from '../db/values.ts';
import { recordFetch } from '../ledger/ledger.ts';
import { quarantineRows, trimQuarantine } from '../ledger/quarantine.ts';
import { findUnreadable, keepChanges, markMissing } from './changes.ts';
import { cutOff, giveUpPolls, isCutOff, pollTime } from './polls.ts';

export interface PageCommit {
  readonly page: PollPage;
  readonly answer: Answer<ListRow>;
  readonly attempt: number;
  /** When the answer came. */
  readonly nowMs: EpochMs;
  /** Least time between two polls that mark a large part of a list as gone. */
  readonly confirmMs: number;
}

export interface PageResult {
  /**
   * `last` completes the poll. `stale`: a copy of an older answer, which ends the poll. `unneeded`: the page
   * is stored already, or its poll has ended.
   */
  readonly verdict: 'page' | 'last' | 'stale' | 'cut_off' | 'unneeded';
  readonly fresh: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly gone: number;
}

type CommittedPage = PageResult & ReturnType<typeof rejectionOf>;

const nothing = Object.freeze({ fresh: 0, changed: 0, unchanged: 0, gone: 0 });

export function commitPage(database: Database, commit: PageCommit): Promise<CommittedPage> {
  const { answer, attempt, nowMs } = commit;
  const { dataset } = commit.page.list;
  return inTransaction(database, async (client) => {
    const result = await store(client, commit);
    const rejection = rejectionOf(answer.rejected);
    await quarantineRows(client, { dataset, rows: answer.rejected, seenAtMs: nowMs });
    if (answer.rejected.length > 0) await trimQuarantine.on(client, { dataset });
    await recordFetch(client, {
      timeMs: nowMs,
      dataset,
      lane: 'poll',
      attempt,
      verdict: result.verdict,
      status: answer.status,
      fresh: result.fresh,
      changed: result.changed,
      unchanged: result.unchanged,
      ...rejection,
      body: answer.rejected.length === 0 ? null : (answer.body ?? null),
      bytes: answer.bytes,
      durationMs: answer.durationMs,
    });
    return { ...result, ...rejection };
  });
}

const lockOpenPoll = statement({
  name: 'lock-poll',
  text: `select id from tidemark.list_polls where id = $id and completed_at is null and given_up_at is null for update`,
  parameters: { id: int8 },
  row: { id: int8 },
});

const readOpenPoll = statement({
  name: 'open-poll',
  text: `
    select p.list_id as "listId", p.time as "timeMs", p.answered_at as "answeredMs", p.rows,
           p.unreadable as "isUnreadable",
           (select coalesce(sum(g.rows), 0)::int from tidemark.poll_pages g where g.poll_id = p.id) as "nextRow",
           (select max(o.time) from tidemark.list_polls o where o.list_id = p.list_id and o.id <> p.id) as "lastMs",
           (select o.rows from tidemark.list_polls o where o.list_id = p.list_id and o.completed_at is not null
            order by o.begun_at desc limit 1) as "rowsBefore",
           greatest(p.largest_page, (
             select max(o.largest_page) from tidemark.lists k cross join lateral (
               select largest_page from tidemark.list_polls o where o.list_id = k.id and o.completed_at is not null
               order by o.begun_at desc limit 1
             ) o where k.list = l.list)) as "largestPage"
    from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id
    where p.id = $id`,
  parameters: { id: int8 },
  row: {
    ...{ listId: int4, timeMs: nullable(time), answeredMs: nullable(time), rows: int4, isUnreadable: bool },
    ...{ nextRow: int4, lastMs: nullable(time), rowsBefore: nullable(int4), largestPage: int4 },
  },
});

const addPage = statement({
  name: 'add-page',
  text: `
    insert into tidemark.poll_pages (poll_id, first_row, rows, listed)
    select id, $firstRow, $received, $listed from tidemark.list_polls where id = $id`,
  parameters: { id: int8, firstRow: int4, received: int4, listed: listOf(int4) },
});

const moveOn = statement({
  name: 'move-poll-on',
  text: `
    update tidemark.list_polls
       set time = $timeMs, answered_at = $nowMs, pages = pages + 1, rows = rows + $rows, changed = changed + $changed,
           gone = $gone, unreadable = unreadable or $isUnreadable, largest_page = greatest(largest_page, $received),
           completed_at = case when $isLast then $nowMs end
     where id = $id`,
  parameters: {
    ...{ id: int8, timeMs: time, nowMs: time, rows: int4, changed: int4, gone: int4 },
    ...{ isUnreadable: bool, received: int4, isLast: bool },
  },
});

const forgetPages = statement({
  name: 'forget-pages',
  text: 'delete from tidemark.poll_pages where poll_id = $id',
  parameters: { id: int8 },
});

const endPause = statement({
  name: 'end-pause-of-list',
  text: 'update tidemark.lists set retry_at = null where id = $listId and retry_at is not null',
  parameters: { listId: int4 },
});

async function store(client: pg.PoolClient, commit: PageCommit): Promise<PageResult> {
  const { page, answer, nowMs } = commit;
  const poll = await lockPoll(client, page);
  if (poll === null || poll.nextRow !== page.firstRow) return { ...nothing, verdict: 'unneeded' };
  const end = { pollId: page.pollId, nowMs };
  if (isCutOff(poll.answeredMs, nowMs)) {
    await giveUpPolls(client, { ...end, reason: cutOff });
    return { ...nothing, verdict: 'cut_off' };
  }
  const timeMs = poll.timeMs ?? pollTime(answer.sourceTimeMs, nowMs);
  if (poll.timeMs === null && poll.lastMs !== null && timeMs <= poll.lastMs) {
    await giveUpPolls(client, { ...end, reason: `stale answer of ${timestamp(timeMs)}` });
    return { ...nothing, verdict: 'stale' };
  }
  const { list, pollId } = page;
  const kept = await keepChanges(client, { list, pollId, rows: answer.rows, timeMs });
  const unreadableIds = await findUnreadable(client, list, answer.rejected);
  const received = answer.rows.length + answer.rejected.length;
  const isLast = isLastPage({
    asked: rowsAskedFor(list),
    received,
    fresh: kept.listed.length,
    total: poll.rows + kept.listed.length,
    totalBefore: poll.rowsBefore,
    largestPage: poll.largestPage,
  });
  const listed = [...kept.listed, ...(unreadableIds ?? [])];
  await addPage.on(client, { id: pollId, firstRow: page.firstRow, received, listed });
  const mayMarkMissing = isLast && unreadableIds !== null && !poll.isUnreadable;
  const gone = mayMarkMissing
    ? await markMissing(client, { id: pollId, list, timeMs, confirmMs: commit.confirmMs })
    : 0;
  const { fresh, changed } = kept;
  await moveOn.on(client, {
    ...{ id: pollId, timeMs, nowMs, gone, received, isLast, isUnreadable: unreadableIds === null },
    ...{ rows: kept.listed.length, changed: fresh + changed },
  });
  if (isLast) {
    await forgetPages.on(client, { id: pollId });
    await endPause.on(client, { listId: poll.listId });
  }
  const unchanged = answer.rows.length - fresh - changed;
  return { verdict: isLast ? 'last' : 'page', fresh, changed, unchanged, gone };
}

/** Reads and locks an open poll: of two transactions with the same page, one waits for the other. */
async function lockPoll(client: pg.PoolClient, { pollId: id }: PollPage) {
  // A statement that waited for a commit still reads the rows as they were before it.
  if ((await lockOpenPoll.on(client, { id })).length === 0) return null;
  return (await readOpenPoll.on(client, { id }))[0] ?? null;
}
