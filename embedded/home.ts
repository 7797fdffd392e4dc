/** The directory of the embedded database: its permissions, its password and its cluster. */

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { makeDirectory } from '../directories.ts';
import { TidemarkError } from '../errors.ts';
import { type Binaries, runProgram } from './binaries.ts';
import { explainOutput } from './failure.ts';
import { isAlive } from './postmaster.ts';
import { type Account, launchAs, unprivilegedAccount } from './unprivileged.ts';

export interface Home {
  readonly directory: string;
  /** The cluster. Owned by `account`, mode 0700. */
  readonly data: string;
  readonly log: string;
  /** Password of the role `tidemark`, kept in a file of mode 0600. */
  readonly password: string;
  /** Account that the server runs as; null: the present user. */
  readonly account: Account | null;
}

/**
 * Creates the directory and the password on first use.
 * @throws TidemarkError EMBEDDED_DATABASE, and file system errors as they are.
 */
export function openHome(directory: string): Home {
  makeDirectory(directory, 0o700);
  const path = realpathSync(resolve(directory));
  const data = dataIn(path);
  const account = readOwner(data) ?? unprivilegedAccount();
  restrictAccess(path, account);
  removeLeftovers(path);
  // A copy or an unpacked archive may be open to all, which PostgreSQL refuses.
  if (existsSync(data)) chmodSync(data, 0o700);
  return { directory: path, data, log: join(path, 'postgres.log'), password: readPassword(path, data), account };
}

/** Temporary name for a path that is created in several steps. `removeLeftovers` recognises it. */
function unfinishedPath(finalPath: string): string {
  return `${finalPath}.new-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** When root comes back, the server must run as the owner of the cluster. */
function readOwner(data: string): Account | null {
  const found = process.getuid?.() === 0 ? statSync(data, { throwIfNoEntry: false }) : undefined;
  return found === undefined || found.uid === 0 ? null : { uid: found.uid, gid: found.gid };
}

function restrictAccess(path: string, account: Account | null): void {
  const entries = readdirSync(path);
  // A directory that existed before keeps its permissions; the files in it have their own.
  const isOurs = entries.length === 0 || entries.includes('password') || entries.includes('postgres');
  if (!isOurs) return;
  if (account !== null) chownSync(path, 0, account.gid);
  chmodSync(path, account === null ? 0o700 : 0o710); // the server's group may pass through, but not list it
}

/** Removes files of processes that were killed while creating them. */
function removeLeftovers(path: string): void {
  for (const name of readdirSync(path)) {
    const [, pid] = /\.new-(\d+)-[0-9a-f]{8}$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) remove(join(path, name));
  }
}

function remove(path: string): void {
  // A child of the killed process may live a moment longer, and still write.
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function readPassword(path: string, data: string): string {
  const file = join(path, 'password');
  if (!existsSync(file)) {
    if (existsSync(data)) {
      throw new TidemarkError('EMBEDDED_DATABASE', `${file} is missing, and the database in ${data} needs it`, {
        remedy: `restore the file, or remove ${path} to start over`,
      });
    }
    const unfinished = unfinishedPath(file);
    writeFileSync(unfinished, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' });
    try {
      linkSync(unfinished, file); // unlike a rename, never replaces one that another process has just created
    } catch (error) {
      if (!existsSync(file)) throw error;
    } finally {
      rmSync(unfinished, { force: true });
    }
  }
  chmodSync(file, 0o600);
  return readFileSync(file, 'utf8').trim();
}

/**
 * Writes the URL of the running server for clients that are no command, such as psql: `psql "$(cat .tidemark/url)"`.
 */
export function writeUrl({ directory }: Home, url: string): void {
  const file = join(directory, 'url');
  if (existsSync(file) && readFileSync(file, 'utf8') === `${url}\n`) return;
  const unfinished = unfinishedPath(file);
  writeFileSync(unfinished, `${url}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(unfinished, file);
}

/** Whether the home holds a complete cluster. */
export const hasCluster = ({ data }: Pick<Home, 'data'>): boolean => existsSync(join(data, 'PG_VERSION'));

/** Whether the directory holds an embedded database. */
export const hasDatabase = (directory: string): boolean => hasCluster({ data: dataIn(directory) });

const dataIn = (directory: string) => join(directory, 'postgres');

/**
 * Creates the cluster under a temporary name and then renames it, so that it exists completely or not at all.
 * Of two processes that do so at once, the second finds the path taken and deletes its own.
 * @throws TidemarkError EMBEDDED_DATABASE or DATABASE_FULL.
 */
export async function createCluster(home: Home, binaries: Binaries): Promise<void> {
  const unfinished = unfinishedPath(home.data);
  const passwordFile = unfinishedPath(join(home.directory, 'initial-password'));
  try {
    mkdirSync(unfinished, { mode: 0o700 });
    writeFileSync(passwordFile, home.password, { mode: 0o600 });
    if (home.account !== null) {
      for (const path of [unfinished, passwordFile]) chownSync(path, home.account.uid, home.account.gid);
    }
    const launch = launchAs(home.account, binaries.initdb, home.directory);
    const { succeeded, printed } = await runProgram(launch, binaries.initdb, [
      ...['-D', unfinished, '-U', 'tidemark', '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
      // PostgreSQL's builtin locale sorts text alike on every machine, whatever locales it has.
      ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
      '--no-instructions',
    ]);
    if (!succeeded) throw explainOutput(printed, 'the database could not be made', home.directory);
    try {
      renameSync(unfinished, home.data);
    } catch (error) {
      if (!hasCluster(home)) throw error;
    }
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(unfinished, { recursive: true, force: true });
  }
}
