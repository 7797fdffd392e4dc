/**
 * The longest ranges that the source accepts, where it refused longer ones: shared by all workers and later
 * starts.
 */

import type { RangeKey } from '../../planning/windows.ts';
import { type Database, inTransaction } from '../db/database.ts';

const prefix = 'longest_range ';

/**
 * Stores the length, unless a shorter one is stored, and deletes the refused windows, so that they are
 * planned again with this length.
 *
 * @param key dataset and interval.
 */
export async function storeLongestRange(database: Database, key: RangeKey, longestMs: number): Promise<void> {
  const [dataset, interval] = key.split(' ');
  await inTransaction(database, async (client) => {
    await client.query(
      `insert into tidemark.settings as s (name, value) values ($1, $2)
       on conflict (name) do update set value = least(s.value::bigint, excluded.value::bigint)::text`,
      [`${prefix}${key}`, String(longestMs)],
    );
    await client.query(
      `delete from tidemark.pending_windows p using tidemark.series s
       where s.id = p.series_id and s.dataset = $1 and s.interval = $2 and p.verdict = 'failed' and p.kind = 'refused'
         and extract(epoch from upper(p.range) - lower(p.range)) * 1000 > $3`,
      [dataset, interval, longestMs],
    );
  });
}

/** Milliseconds by dataset and interval. */
export async function readLongestRanges(database: Database): Promise<ReadonlyMap<RangeKey, number>> {
  const result = await database.pool.query<{ key: RangeKey; value: string }>({
    name: 'longest-ranges',
    text: `select substr(name, length($1) + 1) as key, value from tidemark.settings where starts_with(name, $1)`,
    values: [prefix],
  });
  return new Map(result.rows.map((row) => [row.key, Number(row.value)]));
}
