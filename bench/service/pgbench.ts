/** pgbench, which comes with PostgreSQL: the same prepared statement without the service. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Question } from './questions.ts';

const run = promisify(execFile);

/** Transactions a second. */
export async function pgbench(
  program: string,
  url: string,
  question: Question,
  { connections, seconds }: { readonly connections: number; readonly seconds: number },
): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-pgbench-'));
  try {
    const file = join(directory, 'statement.sql');
    writeFileSync(file, question.script);
    const words = [
      ...['--no-vacuum', '--protocol=prepared', `--file=${file}`, `--time=${seconds}`],
      ...[`--client=${connections}`, `--jobs=${Math.min(connections, 2)}`],
      ...Object.entries(question.parameters).flatMap(([name, value]) => ['--define', `${name}=${value}`]),
    ];
    const { stdout } = await run(program, [...words, url], { env: { ...process.env, PGOPTIONS: '-c timezone=UTC' } });
    const rate = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
    if (!(rate > 0)) throw new Error(`pgbench printed: ${stdout}`);
    return rate;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
