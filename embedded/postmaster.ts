/** Reads `postmaster.pid`, PostgreSQL's lock file in the data directory. */

import { readFileSync, readlinkSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../clock.ts';
import { codeOf } from '../errors.ts';

/** No system assigns this process id, so a lock file with it belongs to a dead server. */
const impossiblePid = 999_999_999;

/**
 * Reads the state of the server; `stopped`: none runs, whatever the file says. Line numbers from PostgreSQL's
 * `miscadmin.h`: 1 the process id, 4 the port, 8 the status.
 */
export function serverState(data: string) {
  const lines = readLines(join(data, 'postmaster.pid'));
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isServerOf(data, pid))
    return { state: 'stopped', port: null, pid: null } as const;
  const port = lines[3] ? Number(lines[3]) : null;
  const status = lines[7]?.trim();
  if (status === 'ready' && port !== null) return { state: 'running', port, pid } as const;
  return { state: status === 'stopping' ? 'stopping' : 'starting', port, pid } as const;
}

/**
 * Makes a dead server's lock file acceptable to PostgreSQL, which takes any living process of the same user for the old
 * server. After a reset of the machine the process id may belong to another program. In a container whose first process
 * does not reap children, a killed server remains as a zombie. The file is not removed: it also names the shared
 * memory, by which PostgreSQL makes sure that no process of the old server is left.
 */
export function disownDeadServer(data: string): void {
  const file = join(data, 'postmaster.pid');
  removeAbandoned(file);
  const lines = readLines(file);
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid) || isServerOf(data, pid)) return;
  writeFileSync(file, [impossiblePid, ...lines.slice(1)].join('\n'));
}

/** A starting server fills its lock file at once: a file that is still empty was left by a killed start. */
const emptyForMs = 10_000;

function removeAbandoned(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  // The time of a file is by the clock of the machine.
  if (found?.size === 0 && systemClock.now() - found.mtimeMs > emptyForMs) rmSync(file, { force: true });
}

/** The port of the server's last start, or null. */
export function lastPort(data: string): number | null {
  const [, port] = /"port=(\d+)"/.exec(readLines(join(data, 'postmaster.opts')).join('\n')) ?? [];
  return port === undefined ? null : Number(port);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Whether `pid` is a server that works in `data`. Outside Linux any living process counts. */
export function isServerOf(data: string, pid: number): boolean {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  try {
    // A server works in its data directory; a zombie has no directory.
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data);
  } catch {
    return false;
  }
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
