/** What a move reads of the catalogue: columns, hypertables, numbers that are given out, and tables of somebody else's. */

import pg from 'pg';
import type { Side } from './side.ts';
import { leftBehind, type MovedTable, movedTables } from './tables.ts';

export type MovedColumns = MovedTable & {
  /** As a list in SQL, in an order that is the same on both sides. */
  readonly columns: string;
};

/** The tables to move with their columns. Columns that are computed from others are not data. */
export async function tablesOf(side: Side): Promise<MovedColumns[]> {
  const result = await side.ask((client) =>
    client.query<{ name: string; columns: string[] }>(
      `select c.relname as name, array_agg(a.attname::text order by a.attname) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'tidemark'::regnamespace and c.relname = any ($1)
         and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       group by c.relname`,
      [movedTables.map(({ name }) => name)],
    ),
  );
  const columns = new Map(result.rows.map((row) => [row.name, row.columns]));
  return movedTables.map((table) => ({
    ...table,
    columns: (columns.get(table.name) ?? []).map((column) => pg.escapeIdentifier(column)).join(', '),
  }));
}

/** Tables in the schema `tidemark` that no migration made. */
export async function strangeTables(side: Side): Promise<string[]> {
  const known = [...movedTables.map(({ name }) => name), ...Object.keys(leftBehind)];
  const result = await side.ask((client) =>
    client.query<{ name: string }>(
      `select relname as name from pg_class
       where relnamespace = 'tidemark'::regnamespace and relkind in ('r', 'p', 'm', 'f') and relname <> all ($1)
       order by 1`,
      [known],
    ),
  );
  return result.rows.map(({ name }) => `tidemark.${name}`);
}

/** Of the tables to move, those that are kept in chunks. */
export async function hypertablesOf(side: Side): Promise<Set<string>> {
  const extension = await side.ask((client) =>
    client.query(`select from pg_extension where extname = 'timescaledb'`),
  );
  if (extension.rowCount === 0) return new Set();
  const result = await side.ask((client) =>
    client.query<{ name: string }>(
      `select hypertable_name as name from timescaledb_information.hypertables where hypertable_schema = 'tidemark'`,
    ),
  );
  return new Set(result.rows.map(({ name }) => name));
}

/** Lets the target give out its next ids where the source would have. */
export async function carrySequencesOver(source: Side, target: Side): Promise<void> {
  const owned = `
    select c.relname as table, pg_get_serial_sequence('tidemark.' || quote_ident(c.relname), a.attname) as sequence
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'tidemark'::regnamespace and c.relname = any ($1) and a.attidentity <> ''`;
  const names = [movedTables.map(({ name }) => name)];
  type Owned = { table: string; sequence: string };
  const here = await source.ask((client) => client.query<Owned>(owned, names));
  const there = await target.ask((client) => client.query<Owned>(owned, names));
  const sequences = new Map(there.rows.map((row) => [row.table, row.sequence]));
  for (const { table, sequence } of here.rows) {
    const state = await source.ask((client) =>
      client.query<{ last: string; called: boolean }>(
        `select last_value::text as last, is_called as called from ${sequence}`,
      ),
    );
    const { last, called } = state.rows[0] ?? {};
    await target.ask((client) =>
      client.query('select setval($1::regclass, $2::bigint, $3)', [sequences.get(table), last, called]),
    );
  }
}
