/** The names of series: one market is one series, however it is named. */

import type { SeriesKey } from '../../model/series.ts';
import { inTransaction } from '../../store/db/database.ts';
import { areSameAliases, readAliases, storedKeys, writeAliases } from '../../store/series/aliases.ts';
import { readAliasEntries } from '../../watch-list/source-entries.ts';
import type { OperationContext } from '../context.ts';

/** Stores the aliases of the watch list, so that they hold before it is applied. */
export async function storeAliases({ config, database }: Pick<OperationContext, 'config' | 'database'>): Promise<void> {
  const aliases = config.watchList === undefined ? null : await readAliasEntries(config.watchList);
  if (aliases === null || areSameAliases(await readAliases(database.pool), aliases)) return;
  await inTransaction(database, (client) => writeAliases(client, aliases));
}

/** The series as they are stored, by whichever name they are given. */
export async function asStored(
  context: Pick<OperationContext, 'config' | 'database'>,
  series: readonly SeriesKey[],
): Promise<SeriesKey[]> {
  await storeAliases(context);
  return storedKeys(context.database.pool, series);
}
