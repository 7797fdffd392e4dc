/** `tidemark serve` as a separate process, and its client. */

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Load, Outcome } from './client-process.ts';

const program = fileURLToPath(new URL('../../scripts/tidemark.js', import.meta.url));
const uncached = fileURLToPath(new URL('uncached-process.js', import.meta.url));
const bareHttp = fileURLToPath(new URL('http-process.js', import.meta.url));
const client = fileURLToPath(new URL('client-process.js', import.meta.url));

export interface Serving {
  readonly url: string;
  /** The memory use of the process in MB. Null if the system does not provide it. */
  memoryMb(): number | null;
  stop(): Promise<void>;
}

/**
 * Without request limits, which the client would exceed within a second.
 *
 * @param isCached whether it keeps responses for a second.
 */
export async function startServing(
  databaseUrl: string,
  isCached: boolean,
  environment: NodeJS.ProcessEnv = {},
): Promise<Serving> {
  const words = isCached ? [program, 'serve', '--port', '0'] : [uncached];
  const child = spawn(process.execPath, words, {
    env: {
      ...process.env,
      ...environment,
      DATABASE_URL: databaseUrl,
      REDIS_URL: '',
      LOG_LEVEL: 'warn',
      SERVE_PER_MINUTE: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
      const found = /(http:\S+\/v2)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`tidemark serve ended with ${code}`)));
  });
  return {
    url,
    memoryMb: () => memoryOf(child),
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** A server that answers every request with so many bytes (http-process.ts). */
export async function startBareHttp(bytes: number): Promise<Pick<Serving, 'url' | 'stop'>> {
  const child = fork(bareHttp);
  child.send(bytes);
  const [port] = await once(child, 'message');
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

export async function ask(load: Load): Promise<Outcome> {
  const child = fork(client);
  const heard = once(child, 'message');
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the client ended with ${code}`);
  });
  ended.catch(() => {});
  child.send(load);
  const [outcome] = await Promise.race([heard, ended]);
  return outcome as Outcome;
}

function memoryOf({ pid }: ChildProcess): number | null {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) / 1024;
  } catch {
    return null;
  }
}
