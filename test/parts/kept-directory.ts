/** A temporary directory for a server that a test starts several times. It is removed when this process ends. */

import { chownSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Account, asPresentUser } from '../../embedded/unprivileged.ts';
import { startTethered } from './tethered.ts';

/** @param account the owner; null: the current user. @returns the path, valid until the test has finished. */
export function keepDirectory(account: Account | null = null): string {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  if (account !== null) chownSync(directory, account.uid, account.gid);
  const keeper = startTethered(['sleep', '2147483647'], { launch: asPresentUser, signal: 'TERM', directory });
  onTestFinished(() => keeper.stop());
  return directory;
}
