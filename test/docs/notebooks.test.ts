/**
 * Runs the recipes of docs/notebooks.md and the notebook on the simulated year, and compares their output with the
 * documents. `npm run docs` rewrites it, and docs/pictures.md. Python's parts need psycopg, pandas, matplotlib and
 * nbconvert.
 */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { systemClock } from '../../clock.ts';
import { writeLake } from '../../transfer/lake/write-lake.ts';
import { describeMissing, describeNeeding } from '../parts/describe-needing.ts';
import { describeNeedingDuckdb } from '../parts/duckdb.ts';
import { openFacing } from '../service/stored/facing.ts';
import { useStore } from '../store/open-store.ts';
import { type Notebook, pageOf, picturesOf, pngsOf, sourceOf, textOf } from './pictures.ts';
import { loadSyntheticYear } from './synthetic-year.ts';

const page = 'docs/notebooks.md';
const notebookPath = 'docs/notebooks/ten-questions.ipynb';
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

const readNotebook = (text: string): Notebook => JSON.parse(text);

/** What a reader sees of each cell: its text, and how many pictures. */
const shown = ({ cells }: Notebook) =>
  cells.map((cell) => ({
    source: sourceOf(cell),
    text: textOf(cell),
    pictures: pngsOf(cell).length,
    failures: cell.outputs?.filter(({ output_type }) => output_type === 'error').length ?? 0,
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

/** Of an update, the one that it made. */
let committed = readFileSync(notebookPath, 'utf8');

if (python === undefined)
  describeMissing('Python', 'no Python with psycopg, pandas, matplotlib, nbconvert and ipykernel', () => {
    it('recipes and the notebook give their output', () => {});
  });
else
  describeNeeding('plainPostgres', 'Python', () => {
    it('gives the output in the notebook', async () => {
      const words = ['-m', 'nbconvert', '--to', 'notebook', '--execute', '--stdout', notebookPath];
      const executed = normalized(outputOf(python, words, { DATABASE_URL: store.url }));
      // Pictures differ from version to version.
      const isSame = JSON.stringify(shown(readNotebook(executed))) === JSON.stringify(shown(readNotebook(committed)));
      if (!isSame && inject('updatesDocs')) committed = executed;
      await expect(isSame ? committed : executed).toMatchFileSnapshot(resolve(notebookPath));
    });
  });

describeNeeding('plainPostgres', 'the notebook', () => {
  it('has statements that give rows', async () => {
    const statements = readNotebook(committed).cells.flatMap((cell) =>
      [...sourceOf(cell).matchAll(/'''\n(.*?)'''/gs)].map(([, sql = '']) => sql),
    );
    expect(statements.length).toBeGreaterThan(10);
    for (const statement of statements)
      expect([statement, (await store.database.pool.query(statement)).rows.length]).not.toEqual([statement, 0]);
  });

  it('has the output of every cell, and ten pictures', () => {
    const all = shown(readNotebook(committed));
    expect(all.reduce((sum, { pictures }) => sum + pictures, 0)).toBe(10);
    expect(all.reduce((sum, { failures }) => sum + failures, 0)).toBe(0);
    expect(all.map(({ text }) => text).join('')).toContain('equal:            True');
  });

  it('is what docs/pictures.md shows, with the answers of its statements', async () => {
    const pictures = picturesOf(readNotebook(committed));
    const page = await pageOf(pictures, store.url);
    expect(page).not.toContain('ERROR');
    await expect(page).toMatchFileSnapshot(resolve('docs/pictures.md'));
    for (const { path, png } of pictures) {
      if (inject('updatesDocs')) writeFileSync(`docs/${path}`, png);
      expect(readFileSync(`docs/${path}`).equals(png), path).toBe(true);
    }
    expect(pictures.reduce((sum, { png }) => sum + png.length, 0)).toBeLessThan(1_000_000);
  });
});
