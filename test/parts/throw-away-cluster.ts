/** A PostgreSQL cluster for one test run. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Launch, launchAs, spawnOptions, unprivilegedAccount } from '../../embedded/unprivileged.ts';
import { type DatabasePart, describeServer } from './database-part.ts';
import { freePort } from './free-port.ts';
import { startTethered, type Tethered } from './tethered.ts';
import { waitFor } from './wait-for.ts';

export type ServerSettings = Readonly<Record<string, string | number>>;

export interface ClusterPrograms {
  readonly initdb: string;
  readonly postgres: string;
  readonly settings: ServerSettings;
  /** Its name in the report. */
  readonly how: string;
}

/** @throws Error with the reason why it did not start; it leaves no files then. */
export async function startThrowAwayCluster(programs: ClusterPrograms): Promise<DatabasePart> {
  // A server that has to be durable, for a benchmark, is on the disk.
  const memory = 'fsync' in programs.settings ? null : roomyMemory();
  const directory = mkdtempSync(join(memory ?? tmpdir(), 'tidemark-test-postgres-'));
  try {
    return await start(programs, directory);
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

const neededBytes = 6 * 1024 ** 3;

/** The file system in memory, where there is room: a copy of the template takes an eighth of the time there. */
function roomyMemory(): string | null {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize > neededBytes && process.availableMemory() > 2 * neededBytes ? '/dev/shm' : null;
  } catch {
    return null;
  }
}

async function start(programs: ClusterPrograms, directory: string): Promise<DatabasePart> {
  const cluster = await initCluster(programs, directory);
  const server = await cluster.start(directory);
  try {
    return { url: cluster.url, ...(await describeServer(cluster.url)), how: programs.how, stop: server.stop };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

export interface Cluster {
  readonly url: string;
  readonly data: string;
  /**
   * Starts its server, always at the same address.
   *
   * @param removed directory that goes with the server; absent: none.
   */
  start(removed?: string): Promise<Tethered>;
  /** A streaming replica in another directory. Its server, and the primary's, must not run while it is created. */
  replica(directory: string): Promise<Cluster>;
  /** Another cluster of the same programs and accounts, whose data are in a directory. */
  at(data: string): Promise<Cluster>;
}

export async function initCluster(programs: ClusterPrograms, directory: string): Promise<Cluster> {
  const account = unprivilegedAccount();
  const password = randomBytes(16).toString('hex');
  const passwordFile = join(directory, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account !== null) {
    for (const path of [directory, passwordFile]) chownSync(path, account.uid, account.gid);
  }
  const launch = launchAs(account, programs.postgres, directory);
  const data = join(directory, 'data');
  const [program = '', ...words] = [
    ...[...launch.prefix, programs.initdb, '-D', data, '-U', 'tidemark'],
    ...['--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8', '--locale=C', '--no-sync'],
  ];
  execFileSync(program, words, { ...spawnOptions(launch), stdio: 'pipe' });

  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 300,
    timezone: 'UTC',
    // The cluster does not outlive the run, so its data need not reach the disk.
    fsync: 'off',
    full_page_writes: 'off',
    ...programs.settings,
  };
  return clusterAt(data, { programs, launch, password, port: await freePort(), settings });
}

interface ServerOf {
  readonly programs: ClusterPrograms;
  readonly launch: Launch;
  readonly password: string;
  readonly port: number;
  readonly settings: ServerSettings;
}

function clusterAt(data: string, server: ServerOf): Cluster {
  const { programs, launch, password, port } = server;
  const settings = { ...server.settings, port };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = `postgres://tidemark:${password}@127.0.0.1:${port}/postgres`;
  return {
    url,
    data,
    at: async (other) => clusterAt(other, { ...server, port: await freePort() }),
    async replica(directory) {
      const copy = join(directory, 'data');
      const { prefix } = launch;
      const copying = [...prefix, 'cp', '-a', data, copy];
      execFileSync(copying[0] ?? '', copying.slice(1), { ...spawnOptions(launch), stdio: 'pipe' });
      writeFileSync(join(copy, 'standby.signal'), '');
      const primary_conninfo = `host=127.0.0.1 port=${port} user=tidemark password=${password}`;
      return clusterAt(copy, { ...server, port: await freePort(), settings: { ...server.settings, primary_conninfo } });
    },
    async start(removed = '') {
      const server = startTethered([programs.postgres, '-D', data, ...flags], {
        launch,
        signal: 'INT', // the fast shutdown
        directory: removed,
      });
      try {
        await waitFor('the throw-away PostgreSQL to answer', async () => {
          if (!server.isRunning()) throw new Error(server.output().split('\n').at(-1));
          return await describeServer(url).then(
            () => true,
            () => false,
          );
        });
        return server;
      } catch (error) {
        await server.stop();
        throw error;
      }
    },
  };
}
