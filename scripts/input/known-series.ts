/** Reads the series, sources and markets that completion suggests. */

import { pairOf } from '../../operations/sources/markets.ts';
import type { KnownSeries } from '../../planning/watch-list-changes.ts';
import { loadEnvFile } from '../../runtime/context.ts';
import { readRegistry } from '../../runtime/sources.ts';
import { type Config, readConfig } from '../../settings/config.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { readMarkets } from '../../store/series/sources.ts';
import { readKnownSeries } from '../../store/settings/series-changes.ts';

/**
 * Empty without a database that answers at once; the embedded one is not started for it. No error is reported: the user
 * is typing a command.
 */
export function readSeriesToComplete(): Promise<KnownSeries[]> {
  return fromDatabase(({ pool }) => readKnownSeries.on(pool, {}));
}

export async function readSourcesToComplete(): Promise<string[]> {
  try {
    return [...(await readRegistry(configNow())).facts.keys()];
  } catch {
    return [];
  }
}

/** The stored markets of a source, as pairs. No source is asked for them. */
export function readMarketsToComplete(source: string): Promise<string[]> {
  return fromDatabase(async ({ pool }) => (await readMarkets.on(pool, { source })).map(pairOf));
}

function configNow(): Config {
  loadEnvFile();
  return readConfig(process.env);
}

async function fromDatabase<Item>(read: (database: Database) => Promise<Item[]>): Promise<Item[]> {
  try {
    const { url } = configNow().database;
    if (url === undefined) return [];
    const database = openDatabase({
      url,
      applicationName: 'tidemark complete',
      maxConnections: 1,
      statementTimeoutMs: 1000,
    });
    try {
      return await read(database);
    } finally {
      await database.close();
    }
  } catch {
    return [];
  }
}
