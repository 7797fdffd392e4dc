/** The watch list's changes of which lists are polled. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import type { PolledList } from '../../contract/lists.ts';
import { timestamp } from '../database.ts';
import { giveUpPolls } from '../snapshots/polls.ts';

/** @param change.everyMs null: not polled any more; what is stored stays. */
export async function writeListChange(
  client: pg.PoolClient,
  change: { list: PolledList; everyMs: number | null; nowMs: EpochMs },
): Promise<void> {
  const { list, everyMs, nowMs } = change;
  if (everyMs !== null) {
    await client.query(
      `insert into tidemark.lists (list, asset, every) values ($1, $2, $3 * interval '1 millisecond')
       on conflict (list, asset) do update
         set every = excluded.every, untracked_at = null, retry_at = null, decided = true`,
      [list.dataset, list.asset, everyMs],
    );
    return;
  }
  const stopped = await client.query<{ id: number }>(
    `insert into tidemark.lists (list, asset, every, untracked_at) values ($1, $2, '5 minutes', $3)
     on conflict (list, asset) do update
       set untracked_at = coalesce(lists.untracked_at, excluded.untracked_at), decided = true
     returning id`,
    [list.dataset, list.asset, timestamp(nowMs)],
  );
  const listId = stopped.rows[0]?.id;
  if (listId !== undefined) await giveUpPolls(client, { listId, nowMs, reason: 'not tracked any more' });
}
