import { expect, it, onTestFinished } from 'vitest';
import { leftBehind, movedTables } from '../../../store/move/tables.ts';
import { openTestStore } from '../open-store.ts';

/** Fails for a migration that makes a table of which store/move/tables.ts does not say what becomes of it. */
it('a move knows every table that the migrations make', async () => {
  const store = await openTestStore();
  onTestFinished(() => store.close());
  const tables = await store.database.pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace in ('tidemark'::regnamespace, 'public'::regnamespace)
       and relkind in ('r', 'p', 'm', 'f')
       and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`,
  );
  const known = [...movedTables.map(({ name }) => name), ...Object.keys(leftBehind)];
  expect(tables.rows.map(({ name }) => name).sort()).toEqual(known.sort());
});

it('what refers to another table is moved after it', async () => {
  const store = await openTestStore();
  onTestFinished(() => store.close());
  const references = await store.database.pool.query<{ from: string; to: string }>(
    `select f.relname as from, t.relname as to from pg_constraint c
     join pg_class f on f.oid = c.conrelid join pg_class t on t.oid = c.confrelid
     where c.contype = 'f' and f.relnamespace = 'tidemark'::regnamespace`,
  );
  const place = (name: string) => movedTables.findIndex((table) => table.name === name);
  expect(references.rows.length).toBeGreaterThan(0);
  expect(references.rows.filter(({ from, to }) => place(from) < place(to))).toEqual([]);
});
