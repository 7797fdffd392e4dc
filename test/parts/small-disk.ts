/** A disk that a test can fill: a small tmpfs, which only root may mount, and only on some machines. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, onTestFinished } from 'vitest';
import { describeMissing } from './describe-needing.ts';

/** Mounts a small disk, or returns the reason why not. */
function smallDisk(megabytes: number): { path: string; unmount(): void } | string {
  if (process.getuid?.() !== 0 || process.platform !== 'linux')
    return 'needs root on Linux, to mount a small disk';
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

/** Mounts a small disk until the end of the test. @returns its path. */
export function mountSmallDisk(megabytes: number): string {
  const disk = smallDisk(megabytes);
  if (typeof disk === 'string') throw new Error(disk);
  onTestFinished(disk.unmount);
  return disk.path;
}
