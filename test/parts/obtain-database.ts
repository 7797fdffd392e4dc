/**
 * Selects the databases of the tests. The main one is the first of: TEST_DATABASE_URL, an installed PostgreSQL with
 * TimescaleDB, TimescaleDB from Docker, the embedded PostgreSQL. A second one has no extension, because Tidemark must
 * also work without it.
 */

import { locateBinaries } from '../../embedded/binaries.ts';
import { type DatabasePart, describeServer } from './database-part.ts';
import { dockerTimescale, fromContainers, isFromContainers } from './docker-container.ts';
import { localTimescale } from './local-timescale.ts';
import { type ServerSettings, startThrowAwayCluster } from './throw-away-cluster.ts';

/**
 * A database with TimescaleDB, or the reason why there is none. TEST_DATABASE_URL is used even when it lacks the
 * extension.
 */
export async function obtainTimescale(settings: ServerSettings = {}): Promise<DatabasePart | string> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    const described = await describeServer(given).catch((cause: unknown) => {
      throw new Error('no PostgreSQL answers at TEST_DATABASE_URL', { cause });
    });
    return { url: given, ...described, how: 'TEST_DATABASE_URL', stop: async () => {} };
  }
  const local = isFromContainers ? fromContainers : await localTimescale(settings);
  if (typeof local !== 'string') return local;
  const docker = await dockerTimescale(settings);
  return typeof docker === 'string' ? `${local}, and ${docker}` : docker;
}

/** A cluster of the embedded PostgreSQL, which has no TimescaleDB, or the reason why there is none. */
export async function obtainPlain(): Promise<DatabasePart | string> {
  try {
    const { initdb, postgres } = await locateBinaries();
    return await startThrowAwayCluster({ initdb, postgres, how: 'the embedded PostgreSQL', settings: {} });
  } catch (error) {
    return `the embedded PostgreSQL did not start: ${error instanceof Error ? error.message : error}`;
  }
}
