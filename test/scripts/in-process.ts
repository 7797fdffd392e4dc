/** Runs commands within the test's process, several at once if need be. Each has its own environment and output. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { formatWithOptions } from 'node:util';
import { runCommandLine } from '../../scripts/program.ts';
import { type Ended, endedWith } from './ended.ts';

interface Command {
  readonly env: NodeJS.ProcessEnv;
  stdout: string;
  stderr: string;
}

/** The command to which the running code belongs; undefined in the test's own code. */
const current = new AsyncLocalStorage<Command>();

let isInstalled = false;

export interface RunningInProcess {
  readonly ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
}

/** @param directory the working directory; absent: none that has a `.env`. Two at once share the process's. */
export function beginInProcess(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  directory?: string,
): RunningInProcess {
  if (!isInstalled) install();
  isInstalled = true;
  const command: Command = { env: { ...env }, stdout: '', stderr: '' };
  if (directory !== undefined) enter(directory);
  const ended = current
    .run(command, () => runCommandLine(words))
    .then((exitCode) => endedWith(exitCode, command.stdout, command.stderr))
    .finally(() => {
      if (directory !== undefined) leave();
    });
  return { ended, stdout: () => command.stdout, stderr: () => command.stderr };
}

/** The directory of the running commands, their number, and where the process was before. */
const inside = { directory: '', commands: 0, before: '' };

function enter(directory: string): void {
  if (inside.commands === 0) {
    inside.before = process.cwd();
    inside.directory = directory;
    process.chdir(directory);
  } else if (inside.directory !== directory) throw new Error('commands at once need the same directory');
  inside.commands += 1;
}

function leave(): void {
  inside.commands -= 1;
  if (inside.commands === 0) process.chdir(inside.before);
}

export function runInProcess(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  directory?: string,
): Promise<Ended> {
  return beginInProcess(words, env, directory).ended;
}

function install(): void {
  const testEnv = process.env;
  Object.defineProperty(process, 'env', {
    get: () => current.getStore()?.env ?? testEnv,
    set: () => {
      throw new Error('set variables, not the environment');
    },
  });
  const loadEnvFile = process.loadEnvFile.bind(process);
  process.loadEnvFile = (...path) => {
    // A command starts in a directory without a `.env`.
    if (current.getStore() === undefined) loadEnvFile(...path);
  };
  for (const name of ['stdout', 'stderr'] as const) keepWritten(name);
  for (const [method, name] of [
    ['log', 'stdout'],
    ['info', 'stdout'],
    ['warn', 'stderr'],
    ['error', 'stderr'],
  ] as const) {
    const original = console[method];
    console[method] = (...values: unknown[]) => {
      const command = current.getStore();
      if (command === undefined) original.apply(console, values);
      else command[name] += `${formatWithOptions({ colors: false }, ...values)}\n`;
    };
  }
}

function keepWritten(name: 'stdout' | 'stderr'): void {
  const stream = process[name];
  const write = stream.write.bind(stream) as (...values: unknown[]) => boolean;
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    const command = current.getStore();
    if (command === undefined) return write(chunk, ...rest);
    command[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const written = rest.at(-1);
    if (typeof written === 'function') setImmediate(written as () => void);
    return true;
  };
}
