/** Starts and stops the embedded server. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Clock } from '../clock.ts';
import { TidemarkError } from '../errors.ts';
import { type Binaries, cleanEnvironment, runProgram } from './binaries.ts';
import { explainOutput } from './failure.ts';
import type { Home } from './home.ts';
import { disownDeadServer, isServerOf, lastPort, serverState } from './postmaster.ts';
import { launchAs, spawnOptions } from './unprivileged.ts';

const stopTimeoutMs = 30_000;
const logLimitBytes = 16 * 1024 * 1024;

/** Temporary reasons: another start was faster, took the port, or a process of the old server is still ending. */
const temporaryReasons =
  /lock file "postmaster.pid" (?:already exists|is empty)|could not create any TCP\/IP sockets|pre-existing shared memory block|is another postmaster/i;

/**
 * Starts the server and returns when it accepts connections. It runs detached: neither the end of this
 * process nor a Ctrl-C in its terminal ends it.
 * @returns false when it did not start for a temporary reason: read its state again.
 * @throws TidemarkError EMBEDDED_DATABASE or DATABASE_FULL.
 */
export async function startServer(clock: Clock, home: Home, binaries: Binaries): Promise<boolean> {
  disownDeadServer(home.data);
  const launch = launchAs(home.account, binaries.postgres, home.directory);
  const [program = '', ...words] = [
    ...launch.prefix,
    binaries.postgres,
    '-D',
    home.data,
    ...settings(await choosePort(home)),
  ];
  const { descriptor, sizeBefore } = openLog(home.log);
  // Not `pg_ctl start`: it passes the paths to a shell, which may interpret the name of a directory.
  const child = spawn(program, words, {
    ...spawnOptions(launch),
    env: cleanEnvironment(),
    detached: true,
    stdio: ['ignore', descriptor, descriptor],
  });
  closeSync(descriptor);
  child.unref();
  const ended = once(child, 'exit').then(
    () => true,
    () => true,
  );
  for (;;) {
    const hasEnded = await Promise.race([ended, clock.sleep(20).then(() => false)]);
    if (!hasEnded && serverState(home.data).state === 'running') return true;
    if (!hasEnded) continue;
    const printed = readFileSync(home.log).subarray(sizeBefore).toString();
    if (temporaryReasons.test(printed)) return false;
    throw explainOutput(printed, 'PostgreSQL did not start', home.directory);
  }
}

/**
 * Stops the server and waits for its end. Open connections are closed.
 * @throws TidemarkError EMBEDDED_DATABASE when it does not stop.
 */
export async function stopServer(clock: Clock, home: Home, binaries: Binaries): Promise<void> {
  const { pid } = serverState(home.data);
  if (pid === null) return;
  // Fast shutdown first. A server that cannot shut down cleanly, as on a full disk, loses nothing by an
  // immediate one: it recovers at its next start.
  if (await stopped(clock, home, binaries, pid, 'INT')) return;
  if (await stopped(clock, home, binaries, pid, 'QUIT')) return;
  throw new TidemarkError('EMBEDDED_DATABASE', `PostgreSQL (process ${pid}) does not stop`);
}

/**
 * Not `pg_ctl stop`: it waits for the lock file to vanish, and another command may start the next server,
 * with a new lock file, before it looks again.
 */
async function stopped(
  clock: Clock,
  home: Home,
  binaries: Binaries,
  pid: number,
  signal: 'INT' | 'QUIT',
): Promise<boolean> {
  const launch = launchAs(home.account, binaries.pg_ctl, home.directory);
  await runProgram(launch, binaries.pg_ctl, ['kill', signal, String(pid)]);
  const deadline = clock.monotonicMs() + stopTimeoutMs;
  while (isServerOf(home.data, pid)) {
    if (clock.monotonicMs() > deadline) return false;
    await clock.sleep(20);
  }
  return true;
}

function settings(port: number): string[] {
  const values = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '', // a socket's path may be too long, and TCP works for all
    max_connections: 100,
    shared_buffers: '128MB',
    fsync: 'on',
    jit: 'off', // compiling costs more than it gains for the queries of one user
    timezone: 'UTC',
    log_timezone: 'UTC',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** The last port when it is free, so that a saved connection of an SQL client works again. */
async function choosePort(home: Home): Promise<number> {
  const last = lastPort(home.data);
  return (last === null ? null : await tryPort(last)) ?? (await tryPort(0)) ?? 0;
}

async function tryPort(port: number): Promise<number | null> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return address === null || typeof address === 'string' ? null : address.port;
  } catch {
    return null;
  } finally {
    server.close();
  }
}

function openLog(path: string): { descriptor: number; sizeBefore: number } {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > logLimitBytes) renameSync(path, `${path}.old`);
  return { descriptor: openSync(path, 'a', 0o600), sizeBefore: size > logLimitBytes ? 0 : size };
}
