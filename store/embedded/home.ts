/** The directory that holds the embedded database, and who may read what in it. */

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
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { TidemarkError } from '../../errors.ts';
import { isAlive } from './postmaster.ts';
import { type Account, accountInsteadOfRoot } from './unprivileged.ts';

export interface Home {
  readonly directory: string;
  /** The cluster. Belongs to `account`, mode 0700. */
  readonly data: string;
  readonly log: string;
  /** Of the role `tidemark`. Kept in a file of mode 0600. */
  readonly password: string;
  /** Whom the server runs as; null: as the present user. */
  readonly account: Account | null;
}

/**
 * Makes the directory and the password on the first use.
 * @throws TidemarkError EMBEDDED_DATABASE, and errors of the file system as they are.
 */
export function openHome(directory: string): Home {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = realpathSync(resolve(directory));
  const data = join(path, 'postgres');
  const account = ownerOf(data) ?? accountInsteadOfRoot();
  closeToOthers(path, account);
  removeLeftovers(path);
  // A copy or an unpacked archive may be open to all, which PostgreSQL refuses.
  if (existsSync(data)) chmodSync(data, 0o700);
  return {
    directory: path,
    data,
    log: join(path, 'postgres.log'),
    password: passwordIn(path, data),
    account,
  };
}

/** A name beside the final one, for what is made in several steps; `removeLeftovers` knows it by its form. */
export function unfinishedPath(finalPath: string): string {
  return `${finalPath}.new-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** When root comes back, the server must run as the account that the cluster was made for. */
function ownerOf(data: string): Account | null {
  const found = process.getuid?.() === 0 ? statSync(data, { throwIfNoEntry: false }) : undefined;
  return found === undefined || found.uid === 0 ? null : { uid: found.uid, gid: found.gid };
}

function closeToOthers(path: string, account: Account | null): void {
  const entries = readdirSync(path);
  // A directory that was there for something else keeps its permissions; the files in it protect themselves.
  const isOurs = entries.length === 0 || entries.includes('password') || entries.includes('postgres');
  if (!isOurs) return;
  if (account !== null) chownSync(path, 0, account.gid);
  chmodSync(path, account === null ? 0o700 : 0o710); // the server's group may pass through, and see nothing
}

/** What a process that was killed while making something has left behind. */
function removeLeftovers(path: string): void {
  for (const name of readdirSync(path)) {
    const [, pid] = /\.new-(\d+)-[0-9a-f]{8}$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) remove(join(path, name));
  }
}

function remove(path: string): void {
  // Its maker's own child may live a moment longer, and still write.
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function passwordIn(path: string, data: string): string {
  const file = join(path, 'password');
  if (!existsSync(file)) {
    if (existsSync(data)) {
      throw new TidemarkError(
        'EMBEDDED_DATABASE',
        `${file} is missing, and the database in ${data} needs it`,
        {
          remedy: `restore the file, or remove ${path} to begin anew`,
        },
      );
    }
    const unfinished = unfinishedPath(file);
    writeFileSync(unfinished, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' });
    try {
      linkSync(unfinished, file); // unlike a rename, never replaces the one that another process has just made
    } catch (error) {
      if (!existsSync(file)) throw error;
    } finally {
      rmSync(unfinished, { force: true });
    }
  }
  chmodSync(file, 0o600);
  return readFileSync(file, 'utf8').trim();
}
