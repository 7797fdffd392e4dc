/**
 * Runs the recipes of docs/notebooks.md and the notebook on the simulated year, and compares their output with the
 * documents. `npm run docs` rewrites it. Python's parts need psycopg, pandas, matplotlib and nbconvert.
 */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../clock.ts';
import { writeLake } from '../../transfer/lake/write-lake.ts';
import { describeMissing, describeNeeding } from '../parts/describe-needing.ts';
import { describeNeedingDuckdb } from '../parts/duckdb.ts';
import { openFacing } from '../service/stored/facing.ts';
import { useStore } from '../store/open-store.ts';
import { loadSyntheticYear } from './synthetic-year.ts';

const page = 'docs/notebooks.md';
const notebookPath = 'docs/notebooks/a-year-of-bitcoin.ipynb';
/** A block of code with its output. */
const recipe = /```(js|python)\n((?:(?!```).)*)```\n\n```text\n(.*?)```\n/gs;

/** Debian's packages are those of its own Python, which may not be the first. */
const python = ['python3', '/usr/bin/python3'].find(
  (command) => run(command, ['-c', 'import psycopg, pandas, matplotlib, nbconvert, ipykernel'], {}).status === 0,
);

const hasPyarrow = python !== undefined && run(python, ['-c', 'import pyarrow'], {}).status === 0;

function run(command: string, words: readonly string[], env: NodeJS.ProcessEnv, input?: string) {
  return spawnSync(command, words, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    env: { ...process.env, ...env, TZ: 'UTC' },
    ...(input === undefined ? {} : { input }),
  });
}

function outputOf(command: string, words: readonly string[], env: NodeJS.ProcessEnv, input?: string): string {
  const { status, stdout, stderr, error } = run(command, words, env, input);
  if (status !== 0) throw new Error(`${command}: ${error?.message ?? stderr}`);
  return stdout;
}

/** Runs code beside the service of this process. @returns what it prints. */
async function printed(command: string, words: readonly string[], env: NodeJS.ProcessEnv, code: string) {
  const child = spawn(command, words, { env: { ...process.env, ...env, TZ: 'UTC' } });
  child.stdin.end(code);
  const [output, problem, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (status !== 0) throw new Error(`${command}: ${problem}`);
  return output;
}

type Runner = (code: string) => Promise<string>;

/** The page with the present output of its recipes; of those that cannot be run, with the one it has. */
async function withOutputs(runnerOf: (language: string, code: string) => Runner | undefined): Promise<string> {
  let told = readFileSync(page, 'utf8');
  for (const [whole, language = '', code = ''] of [...told.matchAll(recipe)]) {
    const output = await runnerOf(language, code)?.(code);
    if (output === undefined) continue;
    told = told.replace(whole, () => `\`\`\`${language}\n${code}\`\`\`\n\n\`\`\`text\n${output}\`\`\`\n`);
  }
  return told;
}

interface Cell {
  readonly cell_type: string;
  readonly source: readonly string[];
  readonly outputs?: ReadonlyArray<{
    readonly output_type: string;
    readonly text?: readonly string[] | string;
    readonly data?: Readonly<Record<string, unknown>>;
  }>;
}
interface Notebook {
  readonly cells: readonly Cell[];
}

const readNotebook = (text: string): Notebook => JSON.parse(text);

/** What a reader sees of each cell: its text, and how many pictures. */
const shown = ({ cells }: Notebook) =>
  cells.map(({ source, outputs = [] }) => ({
    source: [source].flat().join(''),
    text: outputs.flatMap(({ text = [] }) => [text].flat()).join(''),
    pictures: outputs.filter(({ data }) => data?.['image/png'] !== undefined).length,
    failures: outputs.filter(({ output_type }) => output_type === 'error').length,
  }));

/** The text of a notebook without what differs from machine to machine. */
function normalized(text: string): string {
  const notebook = JSON.parse(text);
  delete notebook.metadata.language_info;
  for (const cell of notebook.cells) cell.metadata = {};
  return `${JSON.stringify(notebook, null, 1)}\n`;
}

const store = useStore('plain');
const lake = mkdtempSync(join(tmpdir(), 'tidemark-notebook-'));

beforeAll(async () => {
  await loadSyntheticYear(store.database);
  await store.database.pool.query('analyze');
  await writeLake(store.database, {
    directory: lake,
    clock: systemClock,
    signal: new AbortController().signal,
    showProgress: () => ({ update: () => {}, stop: () => {} }),
  });
});
afterAll(() => rmSync(lake, { recursive: true }));

describeNeedingDuckdb('the recipes', () => {
  it('give the output on the page', async () => {
    const service = await openFacing(store);
    onTestFinished(() => service.close());
    const env = {
      ...{ DATABASE_URL: store.url, LAKE: lake, TMPDIR: lake },
      TIDEMARK_URL: await service.listen({ port: 0, host: '127.0.0.1' }),
    };
    const told = await withOutputs((language, code) => {
      if (language === 'js') return (code) => printed(process.execPath, ['--input-type=module'], env, code);
      if (python === undefined || (code.includes('pyarrow') && !hasPyarrow)) return undefined;
      return (code) => printed(python, ['-'], env, code);
    });
    expect(told).toMatch(/volume: '\d+\.\d{20}'/);
    await expect(told).toMatchFileSnapshot(resolve(page));
  });
});

describeNeeding('plainPostgres', 'the notebook', () => {
  const { cells } = readNotebook(readFileSync(notebookPath, 'utf8'));
  const code = cells.filter(({ cell_type }) => cell_type === 'code').map(({ source }) => [source].flat().join(''));

  it('has statements that give rows', async () => {
    const statements = code.flatMap(
      (text) => text.match(/(?<=""")[^"]+(?=""")|(?<=''')[^']*(?:'[^']+)*(?=''')/g) ?? [],
    );
    expect(statements.length).toBeGreaterThan(3);
    for (const statement of statements)
      expect([statement, (await store.database.pool.query(statement)).rows.length]).not.toEqual([statement, 0]);
  });

  it('has the output of every cell, and pictures', () => {
    const all = shown({ cells });
    expect(all.reduce((sum, { pictures }) => sum + pictures, 0)).toBe(3);
    expect(all.reduce((sum, { failures }) => sum + failures, 0)).toBe(0);
    expect(all.map(({ text }) => text).join('')).toContain('equal:            True');
  });
});

if (python === undefined)
  describeMissing('Python', 'no Python with psycopg, pandas, matplotlib, nbconvert and ipykernel', () => {
    it('recipes and the notebook give their output', () => {});
  });
else
  describeNeeding('plainPostgres', 'Python', () => {
    it('gives the output in the notebook', async () => {
      const words = ['-m', 'nbconvert', '--to', 'notebook', '--execute', '--stdout', notebookPath];
      const executed = normalized(outputOf(python, words, { DATABASE_URL: store.url }));
      const committed = readFileSync(notebookPath, 'utf8');
      // Pictures differ from version to version.
      const isSame = JSON.stringify(shown(readNotebook(executed))) === JSON.stringify(shown(readNotebook(committed)));
      await expect(isSame ? committed : executed).toMatchFileSnapshot(resolve(notebookPath));
    });
  });
