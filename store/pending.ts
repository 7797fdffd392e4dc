/** Windows that were asked for without success: they stay gaps, are shown with their reason, and wait. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import { arrayOf, type Database, timeRange, timestamp } from './database.ts';

interface Aside {
  readonly seriesId: number;
  readonly window: Range;
  readonly verdict: 'failed' | 'stale';
  readonly kind: string;
  readonly message: string;
  readonly attempts: number;
  readonly nowMs: EpochMs;
  readonly retryAtMs: EpochMs;
  /** Whether it was to be read again although it is covered: it waits all the same. */
  readonly ofCovered?: boolean;
}

/** Puts a window aside that is out of attempts or was refused. It stays a gap and is shown with its reason. */
export async function deferWindow(database: Database, window: Omit<Aside, 'verdict'>): Promise<void> {
  await putAside(database.pool, { ...window, verdict: 'failed' });
}

/**
 * A window that is covered meanwhile, as by another worker, waits for nothing. The lock on its series keeps a commit
 * from covering it unseen.
 */
export async function putAside(client: pg.Pool | pg.PoolClient, aside: Aside): Promise<void> {
  await client.query(
    `with open as materialized (
       select s.id from tidemark.series s
       where s.id = $1 and ($9 or not $2::tstzrange <@ s.covered) for no key update
     )
     insert into tidemark.pending_windows as p
       (series_id, range, verdict, kind, message, attempts, first_at, retry_at, of_covered)
     select id, $2, $3, $4, $5, $6, $7, $8, $9 from open
     on conflict (series_id, range) do update
       set verdict = excluded.verdict, kind = excluded.kind, message = excluded.message,
           attempts = p.attempts + excluded.attempts, retry_at = excluded.retry_at,
           of_covered = p.of_covered and excluded.of_covered`,
    [
      aside.seriesId,
      timeRange(aside.window.startMs, aside.window.endMs),
      aside.verdict,
      aside.kind,
      aside.message.slice(0, 1000),
      aside.attempts,
      timestamp(aside.nowMs),
      timestamp(aside.retryAtMs),
      aside.ofCovered ?? false,
    ],
  );
}

/**
 * Forgets the windows of some series that are covered by now, be it piece by piece, and what probes said of a time in
 * which points have come.
 */
export async function settleCovered(client: pg.PoolClient, seriesIds: readonly number[]): Promise<void> {
  await client.query({
    name: 'settle-covered',
    text: `delete from tidemark.pending_windows p using tidemark.series s
           where s.id = any ($1) and p.series_id = s.id
             and (p.range <@ s.covered and not p.of_covered or p.kind = 'probe' and s.earliest < upper(p.range))`,
    values: [arrayOf(seriesIds.map(String))],
  });
}

/**
 * Forgets what held off a reading of something that is covered, such as of the trailing range, once its time has come:
 * the next one need not have the same bounds, and would leave it behind.
 */
export async function forgetCovered(database: Database, nowMs: EpochMs): Promise<void> {
  await database.pool.query('delete from tidemark.pending_windows where of_covered and retry_at <= $1', [
    timestamp(nowMs),
  ]);
}
