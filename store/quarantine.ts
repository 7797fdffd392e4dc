/** Rows of answers that failed validation: kept as they came, with the reason, once each. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import { timeRange, timestamp } from './database.ts';

export interface RejectedRow {
  /** The row's JSON text. */
  readonly raw: string;
  readonly reason: string;
}

export async function quarantineRows(
  client: pg.PoolClient,
  entry: {
    readonly dataset: string;
    readonly seriesId: number | null;
    readonly window: Range | null;
    readonly rows: readonly RejectedRow[];
    readonly seenAtMs: EpochMs;
  },
): Promise<void> {
  if (entry.rows.length === 0) return;
  await client.query(
    `insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw)
     select $1, $2, $3, $4, * from unnest($5::text[], $6::text[])
     on conflict do nothing`,
    [
      timestamp(entry.seenAtMs),
      entry.dataset,
      entry.seriesId,
      entry.window === null ? null : timeRange(entry.window.startMs, entry.window.endMs),
      entry.rows.map((row) => storable(row.reason)),
      entry.rows.map((row) => storable(row.raw)),
    ],
  );
}

/** PostgreSQL's text holds no NUL. */
function storable(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD');
}
