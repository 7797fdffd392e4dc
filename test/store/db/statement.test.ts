/** Every statement is executed with nulls, in a transaction that is rolled back: its columns are those that it declares. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { definedStatements, int4, nullable, statement, text } from '../../../store/db/statement.ts';
import { useStore } from '../open-store.ts';

const store = useStore();

it('declares the columns that PostgreSQL gives, for every statement', async () => {
  const rooms = ['store', 'service', 'dashboard', 'transfer', 'scheduler', 'operations'];
  const files = rooms.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' }).map((name) => join(room, name)),
  );
  for (const file of files)
    if (file.endsWith('.ts') && /from '.*\/db\/statement\.ts'/.test(readFileSync(file, 'utf8')))
      await import(`../../../${file}`);
  const statements = definedStatements();
  expect(statements.length).toBeGreaterThan(5);
  const client = await store.database.pool.connect();
  try {
    for (const { name, text: sql, row, parameterCount } of statements) {
      await client.query('begin');
      const { fields } = await client.query(sql, Array.from({ length: parameterCount }).fill(null));
      await client.query('rollback');
      const found = fields.map((field) => [field.name, field.dataTypeID]);
      expect([name, found]).toEqual([name, Object.entries(row).map(([column, { oid }]) => [column, oid])]);
    }
  } finally {
    client.release(true);
  }
});

it('numbers parameters by name, and refuses one that the text or the list lacks', async () => {
  const parameters = { id: int4, name: nullable(text) };
  const row = { id: int4, name: nullable(text) };
  const define = (name: string, sql: string) => statement({ name, text: sql, parameters, row });
  const one = define('test-named', 'select $id as id, coalesce($name, $name) as name');
  expect(one.text).toBe('select $1::integer as id, coalesce($2::text, $2::text) as name');
  expect(await one.on(store.database.pool, { id: 7, name: null })).toEqual([{ id: 7, name: null }]);
  expect(() => define('test-unknown', 'select $id, $name, $other')).toThrow('no parameter other');
  expect(() => define('test-unused', 'select $id')).toThrow('does not use name');
  expect(() => define('test-named', 'select $id, $name')).toThrow('two statements have the name test-named');
});
