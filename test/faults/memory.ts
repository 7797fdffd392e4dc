/** The memory use of a test process, as it reports it. */

import type { ChildModule } from '../parts/child-module.ts';
import { waitFor } from '../parts/wait-for.ts';

const answer = /^rss (\d+) at most (\d+)$/gm;

/** Asks a worker of `worker-process.ts`: its resident set and the maximum so far, in MB of 2^20. */
export async function memoryOf(worker: ChildModule) {
  const answers = () => [...worker.printed().matchAll(answer)];
  const before = answers().length;
  worker.process.stdin?.write('\n');
  await waitFor('a word about its memory', () => answers().length > before);
  const [, rss, most] = answers().at(-1) ?? [];
  return { rssMb: Math.round(Number(rss) / 1024), maxMb: Math.round(Number(most) / 1024) };
}
