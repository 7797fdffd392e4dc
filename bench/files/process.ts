/** A command as a process of its own, with what it takes: time, processor time, memory. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface Taken {
  readonly ms: number;
  /** Of this process alone, in the kernel too. Not of the database. */
  readonly processorMs: number;
  /** Null: the system does not say. */
  readonly peakMb: number | null;
}

const lookEveryMs = 10;
/** Linux counts processor time in hundredths of a second. */
const tickMs = 10;

/** @throws Error when it does not exit with 0. */
export async function runProcess(program: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<Taken> {
  const started = performance.now();
  const child = spawn(program, words, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (piece) => {
    said += piece;
  });
  const ended = once(child, 'exit');
  let last: Omit<Taken, 'ms'> = { processorMs: 0, peakMb: null };
  while (child.exitCode === null && child.signalCode === null) {
    last = readUsage(child.pid) ?? last;
    await Promise.race([ended, delay(lookEveryMs)]);
  }
  const ms = performance.now() - started;
  if (child.exitCode !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${child.exitCode}: ${said}`);
  return { ms, ...last };
}

/** Of a process on Linux; null: it has ended. */
function readUsage(pid: number | undefined): Omit<Taken, 'ms'> | null {
  try {
    const status = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    // The name, in parentheses, may contain spaces.
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) (?=\S )/);
    const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number);
    if (status === null) return null;
    return { processorMs: (user + system) * tickMs, peakMb: Number(status[1]) / 1024 };
  } catch {
    return null;
  }
}
