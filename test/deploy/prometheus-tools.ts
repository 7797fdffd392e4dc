/** Prometheus' own programs, if they are installed. */

import { spawnSync } from 'node:child_process';
import { describe } from 'vitest';
import { describeMissing } from '../parts/describe-needing.ts';

const why =
  spawnSync('promtool', ['--version']).error === undefined
    ? ''
    : "promtool is not in the PATH; Debian's package `prometheus` has it";

/** Like `describe`, but skipped without promtool, which the last lines of the run then report. */
export function describeWithPromtool(title: string, body: () => void): void {
  if (why === '') describe(title, body);
  else describeMissing(title, `needs promtool: ${why}`, body);
}

export function promtool(words: readonly string[], input?: string): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', words, { input, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}
