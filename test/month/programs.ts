/** Tidemark's programs as they are built, on the fast clock: each can be replaced by that of another version. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { waitFor } from '../parts/wait-for.ts';
import type { ProcessClock } from '../pipeline/process-clock.ts';

const loader = resolve('test/month/fast-clock-loader.js');

export interface Programs {
  /** Runs a command to its end. @throws Error with its output unless it ends with 0. */
  run(version: string, words: readonly string[], options?: ProgramOptions): Promise<string>;
  start(name: string, version: string, words: readonly string[], options?: ProgramOptions): Program;
}

export interface ProgramOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** A command that runs it, such as `ip netns exec`. */
  readonly prefix?: readonly string[];
}

export interface Program {
  readonly name: string;
  printed(): string;
  waitForPrinted(pattern: RegExp): Promise<void>;
  /** The resident set in MB of 2^20, and open files; null: it has ended. */
  size(): { readonly rssMb: number; readonly files: number } | null;
  /** SIGTERM, as a supervisor sends. @returns the exit code; the name of a signal if that ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | string | null>;
}

/** @param directory of the programs' logs. */
export function programsIn(directory: string, clock: ProcessClock, environment: NodeJS.ProcessEnv): Programs {
  const launch = (version: string, words: readonly string[], { env = {}, prefix = [] }: ProgramOptions) => {
    const program = join(version, 'dist/scripts/tidemark.js');
    if (!existsSync(program)) throw new Error(`${version} is not built: there is no ${program}`);
    const line = [...prefix, process.execPath, '--import', loader, program, ...words];
    return spawn(line[0] ?? '', line.slice(1), {
      cwd: directory,
      env: { ...process.env, ...environment, ...env, TEST_FAST_CLOCK: JSON.stringify(clock) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };

  return {
    async run(version, words, options = {}) {
      const child = launch(version, words, options);
      let printed = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          printed += text;
        });
      const [code] = await once(child, 'close');
      if (code !== 0) throw new Error(`tidemark ${words.join(' ')} ended with ${code}: ${printed}`);
      return printed;
    },
    start(name, version, words, options = {}) {
      const child = launch(version, words, options);
      const log = createWriteStream(join(directory, `${name}.log`), { flags: 'a' });
      let printed = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          if (printed.length < 10_000) printed += text;
          log.write(text);
        });
      const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
      async function stop(signal: NodeJS.Signals = 'SIGTERM') {
        if (!hasEnded()) {
          const exited = once(child, 'exit');
          child.kill(signal);
          await exited;
        }
        return child.exitCode ?? child.signalCode;
      }
      onTestFinished(() => void stop('SIGKILL'));
      return {
        name,
        printed: () => printed,
        waitForPrinted: (pattern) =>
          waitFor(`${name} to print ${pattern}`, () => {
            if (hasEnded()) throw new Error(`${name} ended: ${printed}`);
            return pattern.test(printed);
          }),
        size() {
          try {
            const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
            const rssKib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
            return { rssMb: Math.round(rssKib / 1024), files: readdirSync(`/proc/${child.pid}/fd`).length };
          } catch {
            return null;
          }
        },
        stop,
      };
    },
  };
}
