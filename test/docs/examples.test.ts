/**
 * Runs every statement of docs/sql.md and docs/cookbook.md on a simulated year, with and without TimescaleDB, and
 * compares the answer with the document. `npm run docs` rewrites the answers.
 */

import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { apiObjects } from '../../schema/api.ts';
import { onEachDatabase, useStore } from '../store/open-store.ts';
import { withAnswers } from './answers.ts';
import { loadSyntheticYear } from './synthetic-year.ts';

const cookbook = readFileSync('docs/cookbook.md', 'utf8');
const reference = readFileSync('docs/sql.md', 'utf8');
const published = apiObjects(false)
  .map(({ name }) => name)
  .filter((name) => name.startsWith('public.'));

it('docs/cookbook.md answers numbered questions, each without an error and with rows', () => {
  const questions = cookbook.split(/^## /m).slice(1);
  expect(questions.length).toBeGreaterThan(26);
  expect(questions.map((question) => question.slice(0, question.indexOf('.')))).toEqual(
    questions.map((_, place) => String(place + 1)),
  );
  for (const question of questions) expect(question).toMatch(/```sql\n[^`]+```\n\n```text\n[^`]+\n[^`]+```/);
  expect(cookbook).not.toContain('ERROR');
});

it('docs/sql.md has a heading and an example for every view and function', () => {
  const names = new Set(published.map((name) => /^public\.(\w+)/.exec(name)?.[1] ?? name));
  expect(names.size).toBeGreaterThan(25);
  const sections = reference.split(/^### /m).slice(1);
  for (const name of names) {
    const section = sections.find((text) => new RegExp(`\\b${name}\\b`).test(text.slice(0, text.indexOf('\n'))));
    expect([name, section]).toEqual([name, expect.stringMatching(/```sql\n[^`]+```\n\n```text\n/)]);
  }
});

onEachDatabase('examples', (kind) => {
  const store = useStore(kind);
  beforeAll(async () => {
    await loadSyntheticYear(store.database);
    await store.database.pool.query('analyze');
  });

  it('every view, table, function and column has a comment', async () => {
    const ownOnly = (catalog: string) =>
      `not exists (select from pg_depend d where d.classid = '${catalog}'::regclass and d.objid = o.oid and d.deptype = 'e')`;
    const relations = `pg_class o where o.relkind in ('v', 'm', 'r', 'p') and ${ownOnly('pg_class')}
        and o.relnamespace in ('public'::regnamespace, 'tidemark'::regnamespace)`;
    const bare = await store.database.pool.query<{ name: string }>(
      `select o.oid::regclass::text as name from ${relations} and obj_description(o.oid, 'pg_class') is null
         union all
         select o.oid::regclass || '.' || a.attname
         from pg_attribute a, lateral (select * from ${relations}) o
         where a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped and col_description(o.oid, a.attnum) is null
         union all
         select o.oid::regprocedure::text from pg_proc o
         where o.pronamespace in ('public'::regnamespace, 'tidemark'::regnamespace) and ${ownOnly('pg_proc')}
           and obj_description(o.oid, 'pg_proc') is null`,
    );
    expect(bare.rows.map(({ name }) => name)).toEqual([]);
  });

  it('tidemark.help lists every published object, with an example that runs', async () => {
    const { rows } = await store.database.pool.query<{ name: string; kind: string; example: string | null }>(
      `select schema || '.' || name as name, kind, example from tidemark.help`,
    );
    const listed = new Set(rows.map(({ name }) => name));
    for (const name of published) expect(listed).toContain(name.replace(/\(.*/, ''));
    expect(listed).toContain('tidemark.series_id');
    const isCalled = (name: string, example: string) => example.includes(name.replace(/^public\./, ''));
    for (const { name, kind, example } of rows) {
      expect([name, kind, example]).toEqual([name, kind, expect.any(String)]);
      expect([name, example, isCalled(name, example ?? '')]).toEqual([name, example, true]);
      await expect(store.database.pool.query(example ?? ''), name).resolves.toBeDefined();
    }
  });

  it.each(['sql', 'cookbook'])('docs/%s.md shows the answers of its statements', async (name) => {
    const document = readFileSync(`docs/${name}.md`, 'utf8');
    expect(document).toMatch(/```sql\n/);
    await expect(await withAnswers(document, store.url)).toMatchFileSnapshot(`../../docs/${name}.md`);
  });
});
