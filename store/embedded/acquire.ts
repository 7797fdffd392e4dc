/**
 * The embedded database: one PostgreSQL server a directory, shared by every command that works in it. The first
 * command starts it and the last one stops it.
 *
 *   nothing    The directory holds no cluster. Who comes makes one, and it is now *stopped*.
 *   stopped    Who comes starts the server, detached, and waits. Of two starts PostgreSQL lets one through.
 *   starting   Who comes waits. A start that ends in failure leaves *stopped*.
 *   running    Who comes takes a lease: a connection that holds an advisory lock, shared. Who goes gives its lease up
 *              and tries for the same lock alone. Gaining it means that no lease is left: it stops the server, and
 *              while that lasts a new lease has to wait, and is then cut off.
 *   stopping   Who comes waits, and finds it *stopped*.
 *
 * What a crash leaves:
 *   a killed command: its connection closes, so its lease is gone. The server runs on; the next command to go stops it.
 *   a killed server, a reset machine: a lock file that names a dead process, which counts as *stopped*. PostgreSQL
 *     recovers when it is started. Commands that were using it notice the end of their lease, and come again.
 *   a killed first start: an unfinished cluster beside the place, which the next one to come removes.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { TidemarkError } from '../../errors.ts';
import { type Binaries, locateBinaries } from './binaries.ts';
import { createCluster, hasCluster } from './cluster.ts';
import { failureOfFiles } from './failure.ts';
import { type Home, openHome } from './home.ts';
import { type Lease, takeLease } from './lease.ts';
import { serverState } from './postmaster.ts';
import { startServer, stopServer } from './server.ts';

/** Time to get hold of a server, milliseconds: enough for a recovery after a crash. */
const patienceMs = 120_000;
const lookAgainMs = 50;
const regainPauseMs = 5_000;

export interface EmbeddedDatabase {
  /** Of the database `tidemark`, with the password: not for a log. Holds for as long as the lease does. */
  readonly url: string;
  /** Gives the database back, after which the last user's server is stopped. May be called twice. */
  release(): Promise<void>;
}

export interface EmbeddedDatabaseOptions {
  /** Where the database is kept. Made when absent. */
  readonly directory: string;
  /** Takes one line a call, for what the user should know of. */
  readonly log?: (line: string) => void;
}

/**
 * Starts the embedded database, or joins the running one.
 * @throws TidemarkError EMBEDDED_DATABASE or DATABASE_FULL, with the cause and the remedy.
 */
export async function acquireEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const { directory, log = () => {} } = options;
  try {
    const binaries = await locateBinaries();
    const home = openHome(directory);
    return keep(await obtain(home, binaries), home, binaries, log);
  } catch (error) {
    throw failureOfFiles(error, directory);
  }
}

interface Held {
  readonly lease: Lease;
  readonly url: string;
}

function keep(first: Held, home: Home, binaries: Binaries, log: (line: string) => void): EmbeddedDatabase {
  const leaving = new AbortController();
  let held = first;
  const giveUp = () => held.lease.giveUp();

  // The server may be killed under a command that runs for days. Its pools reconnect, if there is something to reach.
  const stay = async () => {
    for (;;) {
      await held.lease.ended;
      if (leaving.signal.aborted) return;
      log('the embedded database has ended; starting it again');
      try {
        held = await obtain(home, binaries);
        if (held.url !== first.url)
          log('the embedded database had to change its port: start this command again');
      } catch (error) {
        log(`the embedded database does not start: ${error instanceof Error ? error.message : error}`);
        await delay(regainPauseMs, undefined, { ref: false, signal: leaving.signal }).catch(() => {});
      }
      if (leaving.signal.aborted) await giveUp();
    }
  };
  const staying = stay();

  let released: Promise<void> | undefined;
  const release = async () => {
    leaving.abort();
    await giveUp();
    await staying;
  };
  return {
    url: first.url,
    release: () => {
      released ??= release();
      return released;
    },
  };
}

async function obtain(home: Home, binaries: Binaries): Promise<Held> {
  const deadline = performance.now() + patienceMs;
  const stop = () => stopServer(home, binaries);
  let isOurs = false;
  for (;;) {
    const { state, port } = serverState(home.data);
    if (state === 'running' && port !== null) {
      const lease = await takeLease(urlOf(home, port, 'postgres'), stop).catch(async (error: unknown) => {
        // Who started a server that lets nobody in ends it. Another command that got in all the same comes again.
        if (isOurs) await stop().catch(() => {});
        throw error;
      });
      if (lease !== null) return { lease, url: urlOf(home, port, 'tidemark') };
    }
    if (state === 'stopped') {
      if (!hasCluster(home)) await createCluster(home, binaries);
      isOurs = await startServer(home, binaries);
      if (isOurs) continue;
    }
    if (performance.now() > deadline) {
      throw new TidemarkError(
        'EMBEDDED_DATABASE',
        `the server in ${home.directory} is ${state}, and stays so`,
      );
    }
    await delay(lookAgainMs);
  }
}

// Without `sslmode`, a PGSSLMODE in the environment would ask a server for TLS that has none.
const urlOf = (home: Home, port: number, database: string) =>
  `postgres://tidemark:${home.password}@127.0.0.1:${port}/${database}?sslmode=disable`;
