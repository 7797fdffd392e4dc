/** ClickHouse, where `npm install --no-save chdb` has installed it: its library has 540 MB. */

import { spawnSync } from 'node:child_process';
import { describe } from 'vitest';
import { describeMissing } from './describe-needing.ts';

function located(): string | null {
  try {
    return import.meta.resolve('chdb');
  } catch {
    return null;
  }
}

const chdb = located();

/** @param directory it reads no file outside of it. @returns the cells of the rows. */
export type AskClickhouse = (directory: string, sql: string) => string[][];

const ask: AskClickhouse = (directory, sql) => {
  const program = `import(${JSON.stringify(chdb)}).then(({ query }) => process.stdout.write(query(process.argv[1], 'TSV')))`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program, sql], {
    cwd: directory,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
};

export function describeNeedingClickhouse(title: string, body: (ask: AskClickhouse) => void): void {
  if (chdb === null) describeMissing(title, 'chdb is not installed', () => body(ask));
  else describe(title, () => body(ask));
}
