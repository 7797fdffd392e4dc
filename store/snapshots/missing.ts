/** Who a complete poll does not list: missing, and gone when the next complete one does not list it either. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import type { SnapshotList } from '../../contract/lists.ts';
import { isOutageLike } from '../../planning/polls.ts';
import { timestamp } from '../database.ts';
import { shapeOf } from './shapes.ts';

/**
 * Marks who is missing, and as gone who was missing in the complete poll before: since the first of the two. Gone ones
 * stay, with a row that says so.
 *
 * @param poll.confirmMs time between two polls that prove that a good part of the list is gone at once.
 * @returns how many are gone that were not before.
 */
export async function markMissing(
  client: pg.PoolClient,
  poll: { id: number; list: SnapshotList; timeMs: EpochMs; confirmMs: number },
): Promise<number> {
  const { listed, snapshots } = shapeOf(poll.list.dataset);
  const { asset } = poll.list;
  const mine = asset === null ? '$2::text is null' : 'd.asset = $2';
  const counted = await client.query<{ listed: number; missing: number[] }>(
    `select count(*) as listed, coalesce(array_agg(d.id) filter (where d.id not in (
              select unnest(p.listed) from tidemark.poll_pages p where p.poll_id = $1)), '{}') as missing
     from ${listed} d where d.gone_since is null and ${mine}`,
    [poll.id, asset],
  );
  const { listed: all = 0, missing = [] } = counted.rows[0] ?? {};
  if (missing.length === 0) return 0;
  const apartMs = isOutageLike(missing.length, all) ? poll.confirmMs : 0;
  const gone = await client.query(
    `with gone as (
       update ${listed} set gone_since = missed_since
       where id = any ($1) and missed_since <= $2::timestamptz - $3 * interval '1 millisecond'
       returning id, gone_since
     )
     insert into ${snapshots} (listed_id, time, gone) select id, gone_since, true from gone`,
    [missing, timestamp(poll.timeMs), apartMs],
  );
  await client.query(`update ${listed} set missed_since = $2 where id = any ($1) and missed_since is null`, [
    missing,
    timestamp(poll.timeMs),
  ]);
  return gone.rowCount ?? 0;
}
