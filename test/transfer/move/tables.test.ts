import { expect, it } from 'vitest';
import { movedTables, skippedTables } from '../../../transfer/move/tables.ts';
import { useStore } from '../../store/open-store.ts';

/** Fails for a migration with a table that transfer/move/tables.ts does not list. */
const store = useStore();

it('a move lists every table of the migrations', async () => {
  const tables = await store.database.pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace in ('tidemark'::regnamespace, 'public'::regnamespace)
       and relkind in ('r', 'p', 'm', 'f')
       and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`,
  );
  const known = [...movedTables.map(({ name }) => name), ...Object.keys(skippedTables)];
  expect(tables.rows.map(({ name }) => name).sort()).toEqual(known.sort());
});

it('a table is moved after the tables that it refers to', async () => {
  const references = await store.database.pool.query<{ from: string; to: string }>(
    `select f.relname as from, t.relname as to from pg_constraint c
     join pg_class f on f.oid = c.conrelid join pg_class t on t.oid = c.confrelid
     where c.contype = 'f' and f.relnamespace = 'tidemark'::regnamespace`,
  );
  const place = (name: string) => movedTables.findIndex((table) => table.name === name);
  expect(references.rows.length).toBeGreaterThan(0);
  expect(references.rows.filter(({ from, to }) => place(from) < place(to))).toEqual([]);
});
