/** What `status` shows of lists. */

import type { EpochMs } from '../../contract/intervals.ts';
import { type PolledList, snapshotDatasets } from '../../contract/lists.ts';
import { type Database, timestamp } from '../database.ts';
import { type ListRow, listOf } from './list-row.ts';
import { shapeOf } from './shapes.ts';

export interface ListStatus {
  readonly list: PolledList;
  readonly everyMs: number;
  /** Of the newest complete poll: its time, its rows, and those of them that changed; null: there is none. */
  readonly newestMs: EpochMs | null;
  readonly rows: number | null;
  readonly changed: number | null;
  /** Listed once, and not any more. */
  readonly gone: number;
  /** Pages of a poll that is under way; null: none is. */
  readonly pages: number | null;
  /** Why the newest poll was given up; null: it was not. */
  readonly problem: string | null;
  /** Not asked for before; null: it is due as often as ever. */
  readonly retryMs: EpochMs | null;
  /** Rows of the last day that could not be read. */
  readonly quarantined: number;
}

const goneOf = snapshotDatasets
  .map((dataset) => {
    const mine = dataset === 'asset_markets' ? ' and d.asset = l.asset' : '';
    const { listed } = shapeOf(dataset);
    return `when '${dataset}' then (select count(*) from ${listed} d where d.gone_since is not null${mine})`;
  })
  .join(' ');

/** Every list that is tracked, but for the rates. */
export async function listStatus(database: Database, nowMs: EpochMs): Promise<ListStatus[]> {
  const result = await database.pool.query<
    ListRow & {
      every_ms: number;
      time: EpochMs | null;
      rows: number | null;
      changed: number | null;
      gone: number;
      pages: number | null;
      reason: string | null;
      retry_at: EpochMs | null;
      quarantined: number;
    }
  >(
    `select l.list, l.asset, (extract(epoch from l.every) * 1000)::bigint as every_ms,
            c.time, c.rows, c.changed, case l.list ${goneOf} end as gone,
            case when n.completed_at is null and n.given_up_at is null then n.pages end as pages, n.reason,
            case when l.retry_at > $1 then l.retry_at end as retry_at,
            (select count(*) from tidemark.quarantine q
             where q.dataset = l.list and q.seen_at > $1::timestamptz - interval '1 day') as quarantined
     from tidemark.lists l
     left join lateral (
       select * from tidemark.list_polls p where p.list_id = l.id and p.completed_at is not null
       order by p.begun_at desc limit 1
     ) c on true
     left join lateral (
       select * from tidemark.list_polls p where p.list_id = l.id order by p.begun_at desc limit 1
     ) n on true
     where l.untracked_at is null and l.list <> 'rates'
     order by array_position(array['assets', 'exchanges', 'markets', 'asset_markets'], l.list), l.asset`,
    [timestamp(nowMs)],
  );
  return result.rows.map((row) => ({
    list: listOf(row),
    everyMs: row.every_ms,
    newestMs: row.time,
    rows: row.rows,
    changed: row.changed,
    gone: row.gone,
    pages: row.pages,
    problem: row.reason,
    retryMs: row.retry_at,
    quarantined: row.quarantined,
  }));
}
