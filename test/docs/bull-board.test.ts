/** Runs the example of Bull Board in docs/operations.md. Stubs stand for Bull Board, which is no dependency. */

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeNeeding } from '../parts/describe-needing.ts';
import { openQueue, prepareQueue, windowAt } from '../queue/queue-parts.ts';

/** Prints the jobs of each queue at `registerPlugin`, and ends the process in place of listening. */
const stub = `
  export const createBullBoard = ({ queues }) => { globalThis.queues = queues; };
  export class BullMQAdapter { constructor(queue, { readOnlyMode }) { Object.assign(this, { queue, readOnlyMode }); } }
  export class FastifyAdapter {
    registerPlugin() {
      return async () => {
        for (const { queue, readOnlyMode } of globalThis.queues)
          console.log(queue.name, readOnlyMode, (await queue.getJobs()).map(({ id }) => id).join());
        process.exit();
      };
    }
  }`;

const shows = async () => {
  const page = await readFile('docs/operations.md', 'utf8');
  const code = /```js\n(\/\/ board\.mjs\n[\s\S]*?)```/.exec(page)?.[1] ?? '';
  const options = await prepareQueue('redis');
  await (await openQueue(options)).requests.addWindows([windowAt(1)]);
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-board-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  const exported = { '.': './index.mjs', './bullMQAdapter': './index.mjs' };
  for (const name of ['@bull-board/api', '@bull-board/fastify']) {
    await put(`node_modules/${name}/package.json`, JSON.stringify({ name, exports: exported }));
    await put(`node_modules/${name}/index.mjs`, stub);
  }
  for (const name of ['bullmq', 'fastify'])
    await symlink(resolve('node_modules', name), join(folder, 'node_modules', name));
  await put('board.mjs', code.replace('{tidemark}', `{${options.namespace}}`));
  const child = spawn(process.execPath, ['board.mjs'], {
    cwd: folder,
    env: { ...process.env, REDIS_URL: options.redisUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const text of child.stdout.setEncoding('utf8')) printed += text;
  expect(printed).toBe('requests true 1_3600000_7200000\nplanning true \n');
};

describeNeeding('redis', 'docs/operations.md', () => it('shows Bull Board the jobs of the queue', shows));
