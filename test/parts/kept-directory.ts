/** A temporary directory that lives no longer than this process, for a server that is started in it several times. */

import { chownSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Account, asPresentUser } from '../../store/embedded/unprivileged.ts';
import { startTethered } from './tethered.ts';

/** @param account who owns it; null: the present user. @returns where it is, until the test has finished. */
export function keepDirectory(account: Account | null = null): string {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  if (account !== null) chownSync(directory, account.uid, account.gid);
  const keeper = startTethered(['sleep', '2147483647'], { launch: asPresentUser, signal: 'TERM', directory });
  onTestFinished(() => keeper.stop());
  return directory;
}
