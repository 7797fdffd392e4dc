/** Single polls of lists that the watch list's patterns need, whether or not anybody follows them. */

import { type EpochMs, minuteMs } from '../../contract/intervals.ts';
import type { SnapshotList } from '../../contract/lists.ts';
import { type Database, inTransaction, timestamp } from '../database.ts';

/** Of a list that nobody follows: what a failed poll of it waits at least. */
const everyMs = 10 * minuteMs;

/** Of the list `$1` of the asset `$2`. */
const openPoll = `
  select p.id from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id
  where l.list = $1 and l.asset is not distinct from $2 and p.completed_at is null and p.given_up_at is null
  for share of p`;

/**
 * Begins a poll, unless one is open, which then serves as well, or one was completed within a day: perhaps a moment ago,
 * since the caller found that there was none. Its pages are asked for like those of any other.
 *
 * @param ask.patiently leaves a list alone whose newest poll failed, as long as the others would.
 * @returns the poll; null: there is no need of one, or it is not the time for one.
 */
export function askForList(
  database: Database,
  ask: { list: SnapshotList; nowMs: EpochMs; patiently: boolean },
): Promise<number | null> {
  const { list, nowMs, patiently } = ask;
  return inTransaction(database, async (client) => {
    await client.query(
      `insert into tidemark.lists (list, asset, every, untracked_at, decided)
       values ($1, $2, $3 * interval '1 millisecond', $4, false) on conflict do nothing`,
      [list.dataset, list.asset, everyMs, timestamp(nowMs)],
    );
    const id = async () =>
      (await client.query<{ id: number }>(openPoll, [list.dataset, list.asset])).rows[0]?.id;
    // One whose last page is being committed is waited for: then it is complete, and not open any more.
    const open = await id();
    if (open !== undefined) return open;
    await client.query(
      `insert into tidemark.list_polls (list_id, begun_at)
       select l.id, $3 from tidemark.lists l
       where l.list = $1 and l.asset is not distinct from $2
         and (not $4 or l.retry_at is null or l.retry_at <= $3)
         and not exists (select from tidemark.list_polls p
                         where p.list_id = l.id and p.completed_at >= $3::timestamptz - interval '1 day')
       on conflict do nothing`,
      [list.dataset, list.asset, timestamp(nowMs), patiently],
    );
    return (await id()) ?? null;
  });
}

export interface PollStanding {
  readonly pollId: number;
  readonly state: 'open' | 'complete' | 'given_up';
  readonly pages: number;
  /** Why it was given up. */
  readonly reason: string | null;
}

/** How polls are getting on; one that is not known any more is left out. */
export async function pollStandings(database: Database, pollIds: readonly number[]): Promise<PollStanding[]> {
  const result = await database.pool.query<{
    id: number;
    state: PollStanding['state'];
    pages: number;
    reason: string | null;
  }>(
    `select id, pages, reason,
            case when completed_at is not null then 'complete' when given_up_at is not null then 'given_up'
                 else 'open' end as state
     from tidemark.list_polls where id = any ($1::bigint[]) order by id`,
    [pollIds],
  );
  return result.rows.map(({ id, state, pages, reason }) => ({ pollId: id, state, pages, reason }));
}

/** How the newest requests for some lists went. */
export interface ListFetches {
  /** Since the last that succeeded. */
  readonly failedInARow: number;
  readonly list: SnapshotList | null;
  readonly message: string;
}

/** @param lists whose requests count; of the markets of assets all. */
export async function listFetchesSince(
  database: Database,
  sinceMs: EpochMs,
  lists: readonly SnapshotList[],
): Promise<ListFetches> {
  const result = await database.pool.query<{
    failed: number;
    dataset: string | null;
    message: string | null;
  }>(
    `with mine as (
       select * from tidemark.fetches where time >= $1 and lane = 'poll' and dataset = any ($2)
     ), failures as (
       select * from mine where error is not null
         and not exists (select from mine m where m.error is null and m.time > mine.time)
     )
     select (select count(*) from failures) as failed,
            (select dataset from failures order by time desc limit 1) as dataset,
            (select error from failures order by time desc limit 1) as message`,
    [timestamp(sinceMs), lists.map(({ dataset }) => dataset)],
  );
  const { failed = 0, dataset = null, message = null } = result.rows[0] ?? {};
  const list = lists.find((one) => one.dataset === dataset) ?? null;
  return { failedInARow: failed, list, message: message ?? '' };
}
