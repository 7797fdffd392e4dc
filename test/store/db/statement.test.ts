/** PostgreSQL describes every statement, without executing it: its columns are those that it declares. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { expect, inject, it } from 'vitest';
import { columnsOf, definedStatements, int4, nullable, statement, text } from '../../../store/db/statement.ts';
import { useStore } from '../open-store.ts';

const store = useStore();

it('declares the columns that PostgreSQL gives, for every statement', async () => {
  const rooms = ['store', 'schema', 'service', 'dashboard', 'transfer', 'scheduler', 'operations'];
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
    const found: Record<string, unknown> = {};
    const declared: Record<string, unknown> = {};
    for (const { name, text: sql, row } of statements) {
      if (inject('absent').timescale !== '' && /timescale|columnstore|hypertable|compress/.test(sql)) continue;
      const fields = await describe(client, sql).catch((error: unknown) => {
        throw new Error(`${name}: ${sql}`, { cause: error });
      });
      found[name] = fields.map((field) => [field.name, field.dataTypeID]);
      declared[name] = columnsOf(row).map(([column, { oid }]) => [column, oid]);
    }
    expect(found).toEqual(declared);
  } finally {
    client.release(true);
  }
});

/** The columns of a statement's rows. */
function describe(client: pg.PoolClient, sql: string): Promise<readonly pg.FieldDef[]> {
  return new Promise((resolve, reject) => {
    let fields: readonly pg.FieldDef[] = [];
    client.query({
      submit(connection: pg.Connection) {
        connection.parse({ name: '', text: sql, types: [] }, true);
        connection.describe({ type: 'S', name: '' }, true);
        connection.sync();
      },
      handleRowDescription: (message: { fields: readonly pg.FieldDef[] }) => {
        fields = message.fields;
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(fields),
    } as pg.Submittable);
  });
}

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
