/** What the polled lists hold, for the watch list to choose from. */

import type pg from 'pg';
import { dayMs, type EpochMs } from '../../contract/intervals.ts';
import type { PolledList } from '../../contract/lists.ts';
import { type ListRow, listOf } from '../snapshots/list-row.ts';

export interface ListStanding {
  readonly list: PolledList;
  readonly isTracked: boolean;
  readonly everyMs: number;
  /** Of the newest complete poll: when it ended, and its rows; null: there is none. */
  readonly completedMs: EpochMs | null;
  readonly rows: number | null;
  /** No poll of it before then, as the newest one failed; null: it did not. */
  readonly retryMs: EpochMs | null;
}

/** Every list that was ever polled, tracked or untracked. */
export async function listStandings(client: pg.Pool | pg.PoolClient): Promise<ListStanding[]> {
  const result = await client.query<
    ListRow & {
      tracked: boolean;
      every_ms: number;
      completed_at: EpochMs | null;
      rows: number | null;
      retry_at: EpochMs | null;
    }
  >(
    `select l.list, l.asset, l.untracked_at is null as tracked,
            (extract(epoch from l.every) * 1000)::bigint as every_ms, p.completed_at, p.rows, l.retry_at
     from tidemark.lists l
     left join lateral (
       select completed_at, rows from tidemark.list_polls p
       where p.list_id = l.id and p.completed_at is not null order by p.begun_at desc limit 1
     ) p on true
     order by array_position(array['assets', 'exchanges', 'markets', 'rates', 'asset_markets'], l.list), l.asset`,
  );
  return result.rows.map((row) => ({
    list: listOf(row),
    isTracked: row.tracked,
    everyMs: row.every_ms,
    completedMs: row.completed_at,
    rows: row.rows,
    retryMs: row.retry_at,
  }));
}

/**
 * Whether a list says what the source lists: it was polled within a day, or, where it is polled less often than that,
 * within two of its own rounds.
 */
export function isRecent(
  standing: Pick<ListStanding, 'completedMs' | 'isTracked' | 'everyMs'> | undefined,
  nowMs: EpochMs,
): boolean {
  if (standing === undefined || standing.completedMs === null) return false;
  const longestMs = Math.max(dayMs, standing.isTracked ? 2 * standing.everyMs : 0);
  return nowMs - standing.completedMs <= longestMs;
}

export interface MarketRow {
  readonly exchange: string;
  readonly base: string;
  readonly quote: string;
  readonly goneSinceMs: EpochMs | null;
}

/** In the order of their names. */
export async function listedMarkets(client: pg.Pool | pg.PoolClient): Promise<MarketRow[]> {
  const result = await client.query<Omit<MarketRow, 'goneSinceMs'> & { gone_since: EpochMs | null }>(
    'select exchange, base, quote, gone_since from tidemark.listed_markets order by exchange, base, quote',
  );
  return result.rows.map(({ exchange, base, quote, gone_since }) => ({
    ...{ exchange, base, quote, goneSinceMs: gone_since },
  }));
}

export interface AssetRow {
  readonly asset: string;
  readonly rank: number | null;
  readonly goneSinceMs: EpochMs | null;
}

/** In the order of their names. */
export async function listedAssets(client: pg.Pool | pg.PoolClient): Promise<AssetRow[]> {
  const result = await client.query<{ asset: string; rank: number | null; gone_since: EpochMs | null }>(
    'select asset, rank, gone_since from public.assets order by asset',
  );
  return result.rows.map(({ asset, rank, gone_since }) => ({ asset, rank, goneSinceMs: gone_since }));
}
