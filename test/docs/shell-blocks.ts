/** Runs shell blocks of a page in docs/ as a user who copies them does. */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** The block whose first line is the comment `# <title>`. */
export function blockOf(page: string, title: string): string {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const block = blocks.find((one) => one.startsWith(`# ${title}`));
  if (block === undefined) throw new Error(`${page} has no shell block that begins with "# ${title}"`);
  return block;
}

/** @param where.folder a directory whose programs come first, such as those of a PostgreSQL. */
export async function runBlock(
  block: string,
  where: { folder: string; cwd: string; env: Readonly<Record<string, string>> },
): Promise<{ exitCode: number; printed: string }> {
  // `npx tidemark` would query the registry, so it runs the build of this repository instead.
  const npx = `npx() { shift; '${process.execPath}' '${resolve('dist/scripts/tidemark.js')}' "$@"; }`;
  const child = spawn('bash', ['-euo', 'pipefail', '-c', `${npx}\n${block}`], {
    cwd: where.cwd,
    env: { PATH: `${where.folder}:${process.env.PATH}`, HOME: process.env.HOME, ...where.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  return new Promise((settle) => {
    child.on('close', (exitCode) => settle({ exitCode: exitCode ?? -1, printed }));
  });
}
