/**
 * The embedded database: one PostgreSQL server for each directory, shared by every command that works in it.
 * The first command starts it and the last one stops it.
 *
 *   nothing    The directory holds no cluster. A command creates one, and it is now *stopped*.
 *   stopped    A command starts the server, detached, and waits. Of two starts PostgreSQL lets one through.
 *   starting   A command waits. A start that fails leaves *stopped*.
 *   running    A command takes a lease: a connection that holds a shared advisory lock. At its end it releases the
 *              lease and tries for the exclusive lock. If it gets it, no lease is left, and it stops the server.
 *              Meanwhile a new lease has to wait, and its connection is then closed.
 *   stopping   A command waits, and finds it *stopped*.
 *
 * After a crash:
 *
 *   a killed command: its connection closes, and its lease ends. The server keeps running; the next command to end
 *     stops it.
 *   a killed server, a reset machine: a lock file that names a dead process, which counts as *stopped*. PostgreSQL
 *     recovers at the next start. Commands that used it notice the end of their lease, and take a new one.
 *   a killed first start: an unfinished cluster beside the final path, which the next command removes.
 */

import type { Clock } from '../clock.ts';
import { messageOf, TidemarkError } from '../errors.ts';
import { type Binaries, locateBinaries } from './binaries.ts';
import { explainFileError } from './failure.ts';
import { createCluster, type Home, hasCluster, openHome, writeUrl } from './home.ts';
import { type Lease, takeLease } from './lease.ts';
import { serverState } from './postmaster.ts';
import { startServer, stopServer } from './server.ts';

/** Timeout for a connection to the server: enough for a recovery after a crash. */
const connectTimeoutMs = 120_000;
const pollIntervalMs = 50;
const retryPauseMs = 5_000;

export interface EmbeddedDatabaseOptions {
  readonly clock: Clock;
  /** Directory of the database, created when absent. */
  readonly directory: string;
  /** Called with one line for each message to the user. */
  readonly log?: (line: string) => void;
}

/**
 * Starts the embedded database, or joins the running one.
 * @throws TidemarkError EMBEDDED_DATABASE or DATABASE_FULL, with the cause and the remedy.
 */
export async function acquireEmbeddedDatabase(options: EmbeddedDatabaseOptions) {
  const { clock, directory, log = () => {} } = options;
  try {
    const binaries = await locateBinaries();
    const home = openHome(directory);
    return keepLease(await startOrJoin(clock, home, binaries), clock, home, binaries, log);
  } catch (error) {
    throw explainFileError(error, directory);
  }
}

interface Held {
  readonly lease: Lease;
  readonly url: string;
}

function keepLease(first: Held, clock: Clock, home: Home, binaries: Binaries, log: (line: string) => void) {
  const leaving = new AbortController();
  let held = first;
  const releaseLease = () => held.lease.release();

  // The server may be killed while a command runs for days. Its pools reconnect to the restarted server.
  const stay = async () => {
    for (;;) {
      await held.lease.ended;
      if (leaving.signal.aborted) return;
      log('the embedded database has stopped; restarting it');
      try {
        held = await startOrJoin(clock, home, binaries);
        if (held.url !== first.url) log('the embedded database has a new port: restart this command');
      } catch (error) {
        log(`the embedded database cannot be restarted: ${messageOf(error)}`);
        await pause(clock, retryPauseMs, leaving.signal);
      }
      if (leaving.signal.aborted) await releaseLease();
    }
  };
  const staying = stay();

  let released: Promise<void> | undefined;
  const release = async () => {
    leaving.abort();
    await releaseLease();
    await staying;
  };
  return {
    /** URL of the database `tidemark`, with the password: never log it. Valid as long as the lease. */
    url: first.url,
    /** Releases the lease. The last user stops the server. May be called twice. */
    release: () => {
      released ??= release();
      return released;
    },
  };
}

/** A sleep that does not keep the process alive. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      timer.stop();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.every(ms, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

async function startOrJoin(clock: Clock, home: Home, binaries: Binaries): Promise<Held> {
  const deadline = clock.monotonicMs() + connectTimeoutMs;
  const stop = () => stopServer(clock, home, binaries);
  let isOurs = false;
  for (;;) {
    const { state, port } = serverState(home.data);
    if (state === 'running' && port !== null) {
      const lease = await takeLease(databaseUrl(home, port, 'postgres'), stop).catch(async (error: unknown) => {
        // The server was started here and refuses connections, so it is stopped. Another command that did
        // connect reconnects.
        if (isOurs) await stop().catch(() => {});
        throw error;
      });
      if (lease !== null) {
        const url = databaseUrl(home, port, 'tidemark');
        try {
          writeUrl(home, url);
        } catch (error) {
          await lease.release();
          throw error;
        }
        return { lease, url };
      }
    }
    if (state === 'stopped') {
      if (!hasCluster(home)) await createCluster(home, binaries);
      isOurs = await startServer(clock, home, binaries);
    }
    if (clock.monotonicMs() > deadline) {
      throw new TidemarkError(
        'EMBEDDED_DATABASE',
        `the server in ${home.directory} is still ${state} after ${connectTimeoutMs / 1000} s`,
      );
    }
    await clock.sleep(pollIntervalMs);
  }
}

// Without `sslmode`, a PGSSLMODE in the environment would ask for TLS, which the server does not have.
const databaseUrl = (home: Home, port: number, database: string) =>
  `postgres://tidemark:${home.password}@127.0.0.1:${port}/${database}?sslmode=disable`;
