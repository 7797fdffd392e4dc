/**
 * Commits a page: its changes, its entries, the poll's progress and the ledger in one transaction, and with
 * the last page the end of the poll. After a crash at any instant a page is stored completely, or is
 * requested again.
 */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import { isLastPage, type PollPage, rowsAskedFor } from '../../planning/polls.ts';
import type { WindowAnswer } from '../commit/prepare-window.ts';
import { type Database, inTransaction, timestamp } from '../db/database.ts';
import { recordFetch } from '../ledger/ledger.ts';
import { quarantineRows, trimQuarantine } from '../ledger/quarantine.ts';
import { findUnreadable, keepChanges, markMissing } from './changes.ts';
import { cutOff, giveUpPolls, isCutOff, pollTime } from './polls.ts';
import type { SnapshotRow } from './shapes.ts';

export interface PageCommit {
  readonly page: PollPage;
  readonly answer: WindowAnswer<SnapshotRow>;
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

const nothing = Object.freeze({ fresh: 0, changed: 0, unchanged: 0, gone: 0 });

export function commitPage(database: Database, commit: PageCommit): Promise<PageResult> {
  const { answer, attempt, nowMs } = commit;
  const { dataset } = commit.page.list;
  return inTransaction(database, async (client) => {
    const result = await store(client, commit);
    await quarantineRows(client, { dataset, rows: answer.rejected, seenAtMs: nowMs });
    if (answer.rejected.length > 0) await trimQuarantine(client, dataset);
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
      rejected: answer.rejected.length,
      bytes: answer.bytes,
      durationMs: answer.durationMs,
    });
    return result;
  });
}

interface OpenPoll {
  readonly list_id: number;
  readonly time: EpochMs | null;
  readonly answered_at: EpochMs | null;
  readonly rows: number;
  readonly unreadable: boolean;
  readonly next_row: number;
  readonly last_time: EpochMs | null;
  readonly rows_before: number | null;
  readonly largest_page: number;
}

async function store(client: pg.PoolClient, commit: PageCommit): Promise<PageResult> {
  const { page, answer, nowMs } = commit;
  const poll = await lockPoll(client, page);
  if (poll === null || poll.next_row !== page.firstRow) return { ...nothing, verdict: 'unneeded' };
  const end = { pollId: page.pollId, nowMs };
  if (isCutOff(poll.answered_at, nowMs)) {
    await giveUpPolls(client, { ...end, reason: cutOff });
    return { ...nothing, verdict: 'cut_off' };
  }
  const timeMs = poll.time ?? pollTime(answer.sourceTimeMs, nowMs);
  if (poll.time === null && poll.last_time !== null && timeMs <= poll.last_time) {
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
    totalBefore: poll.rows_before,
    largestPage: poll.largest_page,
  });
  await client.query('insert into tidemark.poll_pages (poll_id, first_row, rows, listed) values ($1, $2, $3, $4)', [
    pollId,
    page.firstRow,
    received,
    [...kept.listed, ...(unreadableIds ?? [])],
  ]);
  const mayMarkMissing = isLast && unreadableIds !== null && !poll.unreadable;
  const gone = mayMarkMissing
    ? await markMissing(client, { id: pollId, list, timeMs, confirmMs: commit.confirmMs })
    : 0;
  await client.query(
    `update tidemark.list_polls
        set time = $2, answered_at = $3, pages = pages + 1, rows = rows + $4, changed = changed + $5, gone = $6,
            unreadable = unreadable or $7, largest_page = greatest(largest_page, $8),
            completed_at = case when $9 then $3::timestamptz end
      where id = $1`,
    [
      pollId,
      timestamp(timeMs),
      timestamp(nowMs),
      kept.listed.length,
      kept.fresh + kept.changed,
      gone,
      unreadableIds === null,
      received,
      isLast,
    ],
  );
  if (isLast) {
    await client.query('delete from tidemark.poll_pages where poll_id = $1', [pollId]);
    const endPause = 'update tidemark.lists set retry_at = null where id = $1 and retry_at is not null';
    await client.query(endPause, [poll.list_id]);
  }
  const { fresh, changed } = kept;
  const unchanged = answer.rows.length - fresh - changed;
  return { verdict: isLast ? 'last' : 'page', fresh, changed, unchanged, gone };
}

/** Reads and locks an open poll: of two transactions with the same page, one waits for the other. */
async function lockPoll(client: pg.PoolClient, page: PollPage): Promise<OpenPoll | null> {
  const locked = await client.query({
    name: 'lock-poll',
    text: `select from tidemark.list_polls where id = $1 and completed_at is null and given_up_at is null for update`,
    values: [page.pollId],
  });
  if (locked.rowCount === 0) return null;
  const result = await client.query<OpenPoll>({
    name: 'open-poll',
    text: `
      select p.list_id, p.time, p.answered_at, p.rows, p.unreadable,
             (select coalesce(sum(g.rows), 0)::int from tidemark.poll_pages g where g.poll_id = p.id) as next_row,
             (select max(o.time) from tidemark.list_polls o where o.list_id = p.list_id and o.id <> p.id) as last_time,
             (select o.rows from tidemark.list_polls o where o.list_id = p.list_id and o.completed_at is not null
              order by o.begun_at desc limit 1) as rows_before,
             greatest(p.largest_page, (
               select max(o.largest_page) from tidemark.lists k cross join lateral (
                 select largest_page from tidemark.list_polls o where o.list_id = k.id and o.completed_at is not null
                 order by o.begun_at desc limit 1
               ) o where k.list = l.list)) as largest_page
      from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id
      where p.id = $1`,
    values: [page.pollId],
  });
  return result.rows[0] ?? null;
}
