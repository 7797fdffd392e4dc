/** Starts and stops the local source. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface LocalSource {
  readonly url: string;
  readonly answers: number;
  /** The size of all answers. */
  readonly bytes: number;
  stop(): Promise<void>;
}

/** The compiled module: benchmarks run from the build. */
const program = fileURLToPath(new URL('source-process.js', import.meta.url));

export async function startLocalSource(days: number): Promise<LocalSource> {
  const child = fork(program, [String(days)]);
  const exited = once(child, 'exit');
  const ready = await Promise.race([
    once(child, 'message').then(([message]) => message as Omit<LocalSource, 'stop'>),
    exited.then(([code]) => {
      throw new Error(`the local source ended with ${code}`);
    }),
  ]);
  return {
    ...ready,
    async stop() {
      child.disconnect();
      await exited;
    },
  };
}
