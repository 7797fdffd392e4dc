/**
 * Which databases the tests run against. The main one is the first of: TEST_DATABASE_URL, an installed PostgreSQL
 * with TimescaleDB, TimescaleDB from Docker, the embedded PostgreSQL. Beside it stands one without the extension,
 * because Tidemark has to work there too.
 */

import { locateBinaries } from '../../store/embedded/binaries.ts';
import { type DatabasePart, describeServer } from './database-part.ts';
import { dockerTimescale } from './docker-container.ts';
import { localTimescale } from './local-timescale.ts';
import { type ServerSettings, startThrowAwayCluster } from './throw-away-cluster.ts';

/**
 * A database with TimescaleDB, or why there is none. TEST_DATABASE_URL is taken even when it lacks the extension.
 * @param settings for a server that is started here, instead of the tests' own.
 * @throws Error when nothing answers at TEST_DATABASE_URL: what was asked for by name is not replaced.
 */
export async function obtainTimescale(settings: ServerSettings = {}): Promise<DatabasePart | string> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    const described = await describeServer(given).catch((cause: unknown) => {
      throw new Error('no PostgreSQL answers at TEST_DATABASE_URL', { cause });
    });
    return { url: given, ...described, how: 'TEST_DATABASE_URL', stop: async () => {} };
  }
  const local = await localTimescale(settings);
  if (typeof local !== 'string') return local;
  const docker = await dockerTimescale(settings);
  return typeof docker === 'string' ? `${local}, and ${docker}` : docker;
}

/** A cluster of the embedded PostgreSQL's programs, which have no TimescaleDB, or why there is none. */
export async function obtainPlain(): Promise<DatabasePart | string> {
  try {
    const { initdb, postgres } = await locateBinaries();
    return await startThrowAwayCluster({ initdb, postgres, how: 'the embedded PostgreSQL', settings: {} });
  } catch (error) {
    return `the embedded PostgreSQL did not start: ${error instanceof Error ? error.message : error}`;
  }
}
