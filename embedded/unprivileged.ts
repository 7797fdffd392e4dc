/**
 * PostgreSQL refuses to run as root. Containers and fresh machines often have no other user, so a root user's
 * server runs as an unprivileged account of the system.
 *
 * That account cannot enter a directory that only root may enter, such as /root or one made by `mktemp -d`. There the
 * server keeps one capability, to pass through directories (`dac_read_search`; where a container lacks it,
 * `dac_override`). It gets the capability only when the account could not reach its files otherwise.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { TidemarkError } from '../errors.ts';

/** Account that a server runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** How to start a program: the account, and a program to start it with. */
export interface Launch {
  /** Null: the present user. */
  readonly account: Account | null;
  /** Words before the program and its arguments; mostly none. */
  readonly prefix: readonly string[];
}

export const asPresentUser: Launch = Object.freeze({ account: null, prefix: Object.freeze([]) });

/** Accounts of the system that own nothing of value, the best first. */
const accountNames = ['postgres', 'nobody'];

/** The account to use instead of root; null when this process does not run as root. */
export function unprivilegedAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  const lines = readPasswd().map((line) => line.split(':'));
  for (const name of accountNames) {
    const [, , uid, gid] = lines.find((fields) => fields[0] === name) ?? [];
    if (uid !== undefined && gid !== undefined && Number(uid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  return { uid: 65534, gid: 65534 };
}

function readPasswd(): string[] {
  try {
    return readFileSync('/etc/passwd', 'utf8').split('\n');
  } catch {
    return []; // a system without the file: the conventional id of `nobody` works
  }
}

/**
 * The least privileged launch with which the account can run `program` and enter `directory`.
 * @throws TidemarkError EMBEDDED_DATABASE when there is none, with the remedy.
 */
export function launchAs(account: Account | null, program: string, directory: string): Launch {
  if (account === null) return asPresentUser;
  const candidates: Launch[] = [
    { account, prefix: [] },
    { account: null, prefix: withCapability(account, 'dac_read_search') },
    { account: null, prefix: withCapability(account, 'dac_override') },
  ];
  const working = candidates.find((launch) => reaches(launch, program, directory));
  if (working !== undefined) return working;
  throw new TidemarkError(
    'EMBEDDED_DATABASE',
    `PostgreSQL does not run as root, and user ${account.uid} may not enter ${directory}`,
    { remedy: 'run as another user, or in a directory that every user may enter, or set DATABASE_URL' },
  );
}

function withCapability(account: Account, capability: string): string[] {
  return [
    'setpriv',
    ...['--reuid', String(account.uid), '--regid', String(account.gid), '--clear-groups'],
    // Without this, leaving uid 0 would clear the capability before the program starts.
    ...['--securebits', '+no_setuid_fixup'],
    ...['--inh-caps', `+${capability}`, '--ambient-caps', `+${capability}`],
  ];
}

function reaches(launch: Launch, program: string, directory: string): boolean {
  const script = 'cd "$1" && "$2" --version';
  const [command = 'sh', ...words] = [...launch.prefix, 'sh', '-c', script, 'sh', directory, program];
  return spawnSync(command, words, { ...spawnOptions(launch), stdio: 'ignore' }).status === 0;
}

/** Options for `child_process`: the account, and a working directory that every account may enter. */
export function spawnOptions(launch: Launch): { cwd: string; uid?: number; gid?: number } {
  const cwd = process.platform === 'win32' ? process.cwd() : '/';
  return launch.account === null ? { cwd } : { cwd, uid: launch.account.uid, gid: launch.account.gid };
}
