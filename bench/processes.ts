/** Runs Tidemark's commands as separate processes, as on several hosts. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The compiled command: benchmarks run from the build. */
const program = fileURLToPath(new URL('../scripts/tidemark.js', import.meta.url));

export interface Processes {
  /** @throws Error when a process has ended unexpectedly. */
  assertRunning(): void;
  /** The most memory that any of them has had, in MB; null: the system does not say. */
  peakMb(): number | null;
  /** Sends SIGTERM to all and waits for their ends. */
  stop(): Promise<void>;
}

/**
 * Node.js flags of a worker: a young generation of 64 MB instead of 16. Answers in flight then die there, and are not
 * copied repeatedly.
 */
const workerFlags = ['--max-semi-space-size=64'];

/** @param commands such as `worker` and `scheduler`. */
export function startProcesses(
  commands: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Processes {
  const children = commands.map((command) => ({ command, child: start(command, environment) }));
  return {
    assertRunning() {
      const ended = children.find(({ child }) => hasEnded(child));
      if (ended !== undefined) {
        throw new Error(`tidemark ${ended.command} ended with ${ended.child.exitCode ?? ended.child.signalCode}`);
      }
    },
    peakMb() {
      const peaks = children.flatMap(({ child }) => peakOf(child.pid) ?? []);
      return peaks.length === 0 ? null : Math.max(...peaks);
    },
    async stop() {
      await Promise.all(
        children.map(async ({ child }) => {
          if (hasEnded(child)) return;
          const exited = once(child, 'exit');
          child.kill('SIGTERM');
          await exited;
        }),
      );
    },
  };
}

/** Its log lines of level warn and above go to standard error. */
function start(command: string, environment: Readonly<Record<string, string | undefined>>): ChildProcess {
  const flags = command === 'worker' ? workerFlags : [];
  return spawn(process.execPath, [...flags, program, command], {
    env: { ...process.env, ...environment, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Of a process on Linux. */
function peakOf(pid: number | undefined): number | null {
  try {
    const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return match === null ? null : Math.round(Number(match[1]) / 1024);
  } catch {
    return null;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
