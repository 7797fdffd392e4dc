/** A throw-away cluster of the PostgreSQL with TimescaleDB that is installed on this machine. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabasePart } from './database-part.ts';
import { type ClusterPrograms, type ServerSettings, startThrowAwayCluster } from './throw-away-cluster.ts';

interface Installation {
  readonly binaries: string;
  readonly shared: string;
}

/** The folders of PostgreSQL on Debian, Red Hat and Homebrew, and that of `pg_config`; the newest version first. */
function installations(): Installation[] {
  const found: Installation[] = [];
  const list = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);
  for (const version of list('/usr/lib/postgresql')) {
    found.push({ binaries: `/usr/lib/postgresql/${version}/bin`, shared: `/usr/share/postgresql/${version}` });
  }
  for (const folder of list('/usr').filter((name) => name.startsWith('pgsql-'))) {
    found.push({ binaries: `/usr/${folder}/bin`, shared: `/usr/${folder}/share` });
  }
  found.reverse();
  try {
    const ask = (what: string) => execFileSync('pg_config', [what], { encoding: 'utf8', stdio: 'pipe' }).trim();
    found.push({ binaries: ask('--bindir'), shared: ask('--sharedir') });
  } catch {
    // no pg_config: only the folders above count
  }
  return found.filter(({ binaries }) => existsSync(join(binaries, 'initdb')));
}

/** The programs, or the reason why there are none. @param settings override those of the tests. */
export function timescalePrograms(settings: ServerSettings = {}): ClusterPrograms | string {
  const installed = installations();
  if (installed.length === 0) return 'no PostgreSQL is installed';
  const chosen = installed.find(({ shared }) => existsSync(join(shared, 'extension/timescaledb.control')));
  if (chosen === undefined) return 'the installed PostgreSQL lacks TimescaleDB';
  return {
    initdb: join(chosen.binaries, 'initdb'),
    postgres: join(chosen.binaries, 'postgres'),
    how: `a throw-away cluster of ${chosen.binaries}`,
    settings: {
      shared_preload_libraries: 'timescaledb',
      'timescaledb.telemetry_level': 'off',
      // None but the launcher: every database with the extension would get a worker. A test that needs them starts a
      // server.
      'timescaledb.max_background_workers': 1,
      max_locks_per_transaction: 256,
      ...settings,
    },
  };
}

export async function localTimescale(settings: ServerSettings = {}): Promise<DatabasePart | string> {
  const programs = timescalePrograms(settings);
  if (typeof programs === 'string') return programs;
  try {
    return await startThrowAwayCluster(programs);
  } catch (error) {
    return `the installed PostgreSQL did not start: ${error instanceof Error ? error.message : error}`;
  }
}
