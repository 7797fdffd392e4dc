/** Reads the series that completion suggests. */

import { readConfig } from '../../config.ts';
import type { KnownSeries } from '../../planning/watch-list-changes.ts';
import { loadEnvFile } from '../../runtime/context.ts';
import { openDatabase } from '../../store/db/database.ts';
import { readKnownSeries } from '../../store/settings/series-changes.ts';

/**
 * Empty without a database that answers at once; the embedded one is not started for it. No error is reported: the user is
 * typing a command.
 */
export async function readSeriesToComplete(): Promise<KnownSeries[]> {
  try {
    loadEnvFile();
    const { url } = readConfig(process.env).database;
    if (url === undefined) return [];
    const database = openDatabase({
      url,
      applicationName: 'tidemark complete',
      maxConnections: 1,
      statementTimeoutMs: 1000,
    });
    try {
      return await readKnownSeries(database.pool);
    } finally {
      await database.close();
    }
  } catch {
    return [];
  }
}
