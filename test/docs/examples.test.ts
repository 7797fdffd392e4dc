/**
 * Runs every statement of docs/sql.md and docs/cookbook.md on a simulated year, with and without TimescaleDB, and
 * compares the answer with the document. `npm run docs` rewrites the answers.
 */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { derivedObjects } from '../../store/views/apply.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { openTestStore, type TestStore } from '../store/open-store.ts';
import { withAnswers } from './answers.ts';
import { loadSyntheticYear } from './synthetic-year.ts';

const cookbook = readFileSync('docs/cookbook.md', 'utf8');
const reference = readFileSync('docs/sql.md', 'utf8');
const published = derivedObjects(false)
  .map(({ name }) => name)
  .filter((name) => name.startsWith('public.'));

it('docs/cookbook.md answers thirteen questions, each without an error and with rows', () => {
  const questions = cookbook.split(/^## /m).slice(1);
  expect(questions.map((question) => question.slice(0, question.indexOf('.')))).toEqual(
    Array.from({ length: 13 }, (_, place) => String(place + 1)),
  );
  for (const question of questions) expect(question).toMatch(/```sql\n[^`]+```\n\n```text\n[^`]+\n[^`]+```/);
  expect(cookbook).not.toContain('ERROR');
});

it('docs/sql.md has a heading and an example for every view and function', () => {
  const names = new Set(published.map((name) => /^public\.(\w+)/.exec(name)?.[1] ?? name));
  expect(names.size).toBeGreaterThan(25);
  const sections = reference.split(/^### /m).slice(1);
  for (const name of names) {
    const section = sections.find((text) =>
      new RegExp(`\\b${name}\\b`).test(text.slice(0, text.indexOf('\n'))),
    );
    expect([name, section]).toEqual([name, expect.stringMatching(/```sql\n[^`]+```\n\n```text\n/)]);
  }
});

for (const kind of ['main', 'plain'] as const) {
  describeNeeding(kind === 'main' ? 'timescale' : 'plainPostgres', `examples on ${kind}`, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openTestStore(kind);
      await loadSyntheticYear(store.database);
      await store.database.pool.query('analyze');
    });
    afterAll(() => store.close());

    it('every function has a comment in the database', async () => {
      const functions = published.filter((name) => name.includes('('));
      const result = await store.database.pool.query<{ name: string }>(
        `select name from unnest($1::text[]) name where obj_description(name::regprocedure, 'pg_proc') is null`,
        [functions],
      );
      expect(functions.length).toBeGreaterThan(20);
      expect(result.rows).toEqual([]);
    });

    it.each(['sql', 'cookbook'])('docs/%s.md shows the answers of its statements', async (name) => {
      const document = readFileSync(`docs/${name}.md`, 'utf8');
      expect(document).toMatch(/```sql\n/);
      await expect(await withAnswers(document, store.url)).toMatchFileSnapshot(`../../docs/${name}.md`);
    });
  });
}
