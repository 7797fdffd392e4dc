/** Rows of a file that belong to no series, or to no time. */

import type { EpochMs } from '../../contract/intervals.ts';
import type { StoredDataset } from '../../contract/series.ts';
import { type Database, inTransaction } from '../database.ts';
import { quarantineRows, type RejectedRow } from '../quarantine.ts';

/** Puts them into quarantine, without a series. */
export async function quarantineStrays(
  database: Database,
  strays: { dataset: StoredDataset; rows: readonly RejectedRow[]; seenAtMs: EpochMs },
): Promise<void> {
  if (strays.rows.length === 0) return;
  await inTransaction(database, (client) =>
    quarantineRows(client, { ...strays, seriesId: null, window: null }),
  );
}
