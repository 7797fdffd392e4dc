/** How fresh the polled lists are. */

import type { PolledDataset } from '../../contract/lists.ts';
import { type Database, timestamp } from '../database.ts';

export interface PollMeasures {
  readonly dataset: PolledDataset;
  /** How often it is polled; of the markets of several assets the longest. */
  readonly everySeconds: number;
  /** Age of what is newest, of several the oldest; null: nothing was polled yet. */
  readonly newestAgeSeconds: number | null;
}

/** @param query.ratesEveryMs how often rates are polled; 0: they are not. */
export async function measurePolls(
  database: Database,
  query: { nowMs: number; ratesEveryMs: number },
): Promise<PollMeasures[]> {
  const result = await database.pool.query<{
    dataset: PolledDataset;
    every: number;
    newest_age: number | null;
  }>({
    name: 'measure-polls',
    text: `
      select l.list as dataset, max(extract(epoch from l.every))::float8 as every,
             case when bool_and(c.time is not null) then max(extract(epoch from $1 - c.time))::float8 end as newest_age
      from tidemark.lists l
      left join lateral (
        select p.time from tidemark.list_polls p where p.list_id = l.id and p.completed_at is not null
        order by p.begun_at desc limit 1
      ) c on true
      where l.untracked_at is null and l.list <> 'rates' group by l.list
      union all
      -- A look into the index for each currency: the newest of all rates would be searched for among all of them.
      select 'rates', $2::float8 / 1000,
             (select extract(epoch from $1 - max(p.time))::float8 from tidemark.currencies c, lateral (
                select time from tidemark.rate_points r where r.currency_id = c.id order by time desc limit 1) p)
      where $2 > 0
      order by 1`,
    values: [timestamp(query.nowMs), query.ratesEveryMs],
  });
  return result.rows.map(({ dataset, every, newest_age }) => ({
    dataset,
    everySeconds: every,
    newestAgeSeconds: newest_age,
  }));
}
