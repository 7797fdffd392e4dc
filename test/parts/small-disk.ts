/** A disk that a test can fill: a small tmpfs, which only root may mount, and only on some machines. */

import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, onTestFinished, type TestContext } from 'vitest';
import { unprivilegedAccount } from '../../embedded/unprivileged.ts';
import { migrate } from '../../schema/migrate.ts';
import { describeMissing } from './describe-needing.ts';
import { ownCluster } from './own-cluster.ts';
import { execute } from './test-database.ts';

function smallDisk(megabytes: number): { path: string; unmount(): void } | string {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return 'needs root on Linux, to mount a small disk';
  const path = mkdtempSync(join(tmpdir(), 'tidemark-disk-'));
  const remove = () => rmSync(path, { recursive: true, force: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    remove();
    return 'this machine does not allow mounting a small disk';
  }
  const unmount = () => {
    execFileSync('umount', ['-l', path]);
    remove();
  };
  return { path, unmount };
}

/** Like `describe`, but skipped with the reason when no small disk can be mounted. */
export function describeWithSmallDisk(title: string, body: () => void): void {
  const probe = smallDisk(1);
  if (typeof probe === 'string') {
    describeMissing(title, probe, body);
    return;
  }
  probe.unmount();
  describe(title, body);
}

export function mountSmallDisk(megabytes: number): string {
  const disk = smallDisk(megabytes);
  if (typeof disk === 'string') throw new Error(disk);
  onTestFinished(disk.unmount);
  return disk.path;
}

/** A database whose tables are on a small disk. The server's own files are elsewhere, so that it keeps running. */
export async function databaseOnSmallDisk(context: TestContext, megabytes: number) {
  const { url: serverUrl } = await ownCluster(context);
  const disk = mountSmallDisk(megabytes);
  const tables = join(disk, 'tables');
  mkdirSync(tables);
  const account = unprivilegedAccount();
  if (account !== null) chownSync(tables, account.uid, account.gid);
  await execute(
    serverUrl,
    `create tablespace small location '${tables}'`,
    'create database small template template0 tablespace small',
  );
  const url = new URL(serverUrl);
  url.pathname = '/small';
  await migrate({ url: url.href, direction: 'up', ifBusy: 'wait' });
  return { url: url.href, disk, filler: join(disk, 'filler') };
}
