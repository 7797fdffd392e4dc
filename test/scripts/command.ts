/** Runs the command line: as a process of its own, as a user does, or within the test, which takes less time. */

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { queueBeside } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { type Ended, endedWith } from './ended.ts';
import { runInProcess } from './in-process.ts';
import { checkDocuments } from './printed-documents.ts';

export type { Ended };

export const program = resolve('dist/scripts/tidemark.js');

export const market = ['--exchange', 'binance', '--base', 'bitcoin', '--quote', 'tether'];

/** Limit for a test that starts several processes, on a machine that has other things to do. */
export const processesMs = 600_000;

export interface Running {
  readonly ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
  /** Closes both pipes that it writes to, as a reader such as `head` does. */
  leaveUnread(): void;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a process. Only these variables and the system's own reach the command. */
export function start(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = emptyDirectory(),
): Running {
  const child = spawn(process.execPath, [program, ...words], {
    cwd,
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<Ended>((settle) => {
    child.on('close', (exitCode) => settle(endedWith(exitCode, stdout, stderr)));
  }).then((one) => checkDocuments(words, one));
  // Who only kills it does not wait for its end.
  ended.catch(() => {});
  const leaveUnread = () => {
    child.stdout.destroy();
    child.stderr.destroy();
  };
  return { ended, stdout: () => stdout, stderr: () => stderr, leaveUnread, kill: (signal) => void child.kill(signal) };
}

/**
 * Starts `serve`.
 *
 * @returns its process, the address of its API, and that of everything else, which ends with a slash.
 */
export async function startService(env: Readonly<Record<string, string>>) {
  const service = start(['serve'], env);
  const address = () => /http:\S+\/v2/.exec(service.stdout())?.[0] ?? '';
  await waitFor('the address', () => address() !== '');
  return { service, address: address(), root: address().slice(0, -'v2'.length) };
}

/** Runs a command to its end, in this process where it has a database: the embedded one belongs to a process. */
export async function tidemark(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  directory?: string,
): Promise<Ended> {
  if (env.DATABASE_URL === undefined) return start(words, env, directory).ended;
  return checkDocuments(words, await runInProcess(words, environment(env), directory));
}

/** Runs it in a shell with this behind it, such as a pipe. @returns its own exit code, and what the shell printed. */
export function inShell(
  words: readonly string[],
  rest: string,
  env: Readonly<Record<string, string>>,
  cwd = emptyDirectory(),
): Promise<Ended> {
  const command = [process.execPath, program, ...words].map((word) => `'${word}'`).join(' ');
  const script = `${command} ${rest}; exit \${PIPESTATUS[0]}`;
  return new Promise((settle) => {
    execFile('bash', ['-c', script], { cwd, env: environment(env) }, (error, stdout, stderr) =>
      settle(endedWith(Number(error?.code ?? 0), stdout, stderr)),
    );
  });
}

function environment(env: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  // Any free port: several tests run at once.
  return { PATH, HOME, SERVE_PORT: '0', ...queueOf(env), ...env };
}

/**
 * The variables of its queue, on Redis where it is available.
 *
 * @param env with an empty REDIS_URL the queue is on PostgreSQL.
 */
function queueOf({ DATABASE_URL, REDIS_URL }: Readonly<Record<string, string>>): Record<string, string> {
  if (DATABASE_URL === undefined || REDIS_URL !== undefined || !URL.canParse(DATABASE_URL)) return {};
  const { redisUrl, namespace } = queueBeside(DATABASE_URL);
  return redisUrl === undefined ? {} : { REDIS_URL: redisUrl, QUEUE_NAMESPACE: namespace };
}

/** A directory without a `.env`, gone after the test. */
export function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
