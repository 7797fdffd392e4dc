/**
 * Runs the recipes of docs/notebooks.md and the notebook on the simulated year, and compares their output with the
 * documents. `npm run docs` rewrites it. Python's parts need psycopg, pandas, matplotlib and nbconvert.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../clock.ts';
import { writeLake } from '../../transfer/lake/write-lake.ts';
import { describeMissing, describeNeeding } from '../parts/describe-needing.ts';
import { describeNeedingDuckdb } from '../parts/duckdb.ts';
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

/** The page with the present output of its recipes; of those in a language that cannot be run, with the one it has. */
function withOutputs(runners: Readonly<Record<string, ((code: string) => string) | undefined>>): string {
  return readFileSync(page, 'utf8').replaceAll(recipe, (whole, language: string, code: string) => {
    const output = runners[language]?.(code);
    return output === undefined ? whole : `\`\`\`${language}\n${code}\`\`\`\n\n\`\`\`text\n${output}\`\`\`\n`;
  });
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
    const env = { DATABASE_URL: store.url, LAKE: lake };
    const told = withOutputs({
      js: (code) => outputOf(process.execPath, ['--input-type=module'], env, code),
      python: python === undefined ? undefined : (code) => outputOf(python, ['-'], env, code),
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
