/** A PostgreSQL cluster for one test, which can crash it and start it again. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, type TestContext } from 'vitest';
import { locateBinaries } from '../../embedded/binaries.ts';
import { unprivilegedAccount } from '../../embedded/unprivileged.ts';
import { keepDirectory } from './kept-directory.ts';
import { timescalePrograms } from './local-timescale.ts';
import type { Tethered } from './tethered.ts';
import { type Cluster, type ClusterPrograms, initCluster, type ServerSettings } from './throw-away-cluster.ts';
import { waitFor } from './wait-for.ts';

export interface OwnCluster {
  readonly url: string;
  /** Ends the server like a crash: nothing is written, and every connection breaks. */
  crash(): Promise<void>;
  /** Starts it again: it recovers all committed data. */
  start(): Promise<void>;
}

/** With TimescaleDB where it is installed. The settings that matter for crashes equal those of a real server. */
export async function ownCluster(context: TestContext, settings: ServerSettings = {}): Promise<OwnCluster> {
  const programs = await programsFor({ fsync: 'on', full_page_writes: 'on', ...settings });
  if (typeof programs === 'string') return context.skip(programs);
  const cluster = await initCluster(programs, keepDirectory(unprivilegedAccount()));
  let server = await cluster.start();
  onTestFinished(() => server.stop());
  return {
    url: cluster.url,
    crash: () => crash(cluster, server),
    async start() {
      server = await cluster.start();
    },
  };
}

async function crash(cluster: Cluster, server: Tethered): Promise<void> {
  const [pid = ''] = readFileSync(join(cluster.data, 'postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(pid), 'SIGQUIT'); // the immediate shutdown
  await waitFor('the server to end', () => !server.isRunning());
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

/** A primary and its streaming replica. @param prepare fills the primary before it is copied. */
export async function ownReplica(
  context: TestContext,
  prepare: (url: string) => Promise<unknown>,
  settings: ServerSettings = {},
) {
  const programs = await programsFor(settings);
  if (typeof programs === 'string') return context.skip(programs);
  const account = unprivilegedAccount();
  const cluster = await initCluster(programs, keepDirectory(account));
  const first = await cluster.start();
  try {
    await prepare(cluster.url);
  } finally {
    await first.stop();
  }
  const copy = await cluster.replica(keepDirectory(account));
  const primary = await cluster.start();
  onTestFinished(() => primary.stop());
  const replica = await copy.start();
  onTestFinished(() => replica.stop());
  return {
    primary: cluster.url,
    replica: copy.url,
    stopPrimary: () => primary.stop(),
    crashPrimary: () => crash(cluster, primary),
  };
}
