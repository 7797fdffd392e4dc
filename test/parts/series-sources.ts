/** Gives series their sources. */

import { type Database, inTransaction } from '../../store/db/database.ts';
import { type SeriesSource, writeSeriesSources } from '../../store/series/sources.ts';

/** Replaces the sources of a series. */
export function setSeriesSources(
  database: Database,
  seriesId: number,
  sources: readonly SeriesSource[],
): Promise<void> {
  return inTransaction(database, (client) => writeSeriesSources(client, seriesId, sources));
}
