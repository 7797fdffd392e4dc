/** Counting what the source changed afterwards. The old values themselves are kept by points.ts. */

import type pg from 'pg';
import type { Written } from './judged.ts';

/** Adds the windows' revisions to the count of their series, within the commit's transaction. */
export async function countRevised(client: pg.PoolClient, windows: readonly Written[]): Promise<void> {
  for (const { seriesId, changes } of windows) {
    if (changes.revised === 0) continue;
    await client.query('update tidemark.series set revised = revised + $2 where id = $1', [
      seriesId,
      changes.revised,
    ]);
  }
}
