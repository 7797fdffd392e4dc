/** A PostgreSQL cluster of one test's own, to be crashed and started again. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, type TestContext } from 'vitest';
import { locateBinaries } from '../../store/embedded/binaries.ts';
import { accountInsteadOfRoot } from '../../store/embedded/unprivileged.ts';
import { keepDirectory } from './kept-directory.ts';
import { timescalePrograms } from './local-timescale.ts';
import { type ClusterPrograms, initCluster, type ServerSettings } from './throw-away-cluster.ts';
import { waitFor } from './wait-for.ts';

export interface OwnCluster {
  readonly url: string;
  /** Ends the server as a crash of it would: nothing is written, every connection breaks. */
  crash(): Promise<void>;
  /** Starts it again: it recovers what was committed. */
  start(): Promise<void>;
}

/**
 * Starts the installed PostgreSQL with TimescaleDB, else the embedded one without; where there is neither, the test is
 * skipped and says why. The settings are a real server's as far as crashes go.
 */
export async function ownCluster(context: TestContext, settings: ServerSettings = {}): Promise<OwnCluster> {
  const programs = await programsFor({ fsync: 'on', full_page_writes: 'on', ...settings });
  if (typeof programs === 'string') return context.skip(programs);
  const cluster = await initCluster(programs, keepDirectory(accountInsteadOfRoot()));
  let server = await cluster.start();
  onTestFinished(() => server.stop());
  return {
    url: cluster.url,
    async crash() {
      const [pid = ''] = readFileSync(join(cluster.data, 'postmaster.pid'), 'utf8').split('\n');
      process.kill(Number(pid), 'SIGQUIT'); // the immediate shutdown
      await waitFor('the end of the server', () => !server.isRunning());
    },
    async start() {
      server = await cluster.start();
    },
  };
}

async function programsFor(settings: ServerSettings): Promise<ClusterPrograms | string> {
  const programs = timescalePrograms(settings);
  if (typeof programs !== 'string') return programs;
  try {
    return { ...(await locateBinaries()), settings, how: 'the embedded PostgreSQL' };
  } catch (error) {
    return `${programs}, and of the embedded one: ${error instanceof Error ? error.message : error}`;
  }
}
