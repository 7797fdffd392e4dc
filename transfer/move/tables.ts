/**
 * The tables that the migrations create: which ones are moved, and which stay. A test compares this list with
 * the catalogue, so that a new table cannot be forgotten.
 */

import pg from 'pg';
import { datasets } from '../../model/datasets/index.ts';
import { eachList } from '../../model/lists/index.ts';
import { derivedSettings } from '../../schema/apply.ts';
import { listOf, statement, text } from '../../store/db/statement.ts';
import { listHypertables, timescaleVersion } from '../../store/timescale/extension.ts';
import type { Side } from './connection.ts';

export interface MovedTable {
  /** In the schema `tidemark`. */
  readonly name: string;
  /** Condition for the rows to move, where others describe the database itself. */
  readonly only?: string;
}

/** A table comes after the tables that it refers to. */
export const movedTables: readonly MovedTable[] = Object.freeze([
  ...[
    'series',
    'series_sources',
    'source_ranges',
    'changed_months',
    'source_symbols',
    'symbol_states',
    'asset_aliases',
    'lists',
    'list_polls',
    'poll_pages',
    ...eachList.map(({ tables }) => tables.listed),
    ...Object.values(datasets).map(({ table }) => table),
    'rollup_hours',
    'rollup_days',
    ...eachList.map(({ tables }) => tables.states),
    'point_revisions',
    'fetches',
    'quarantine',
    'pending_windows',
    'empty_answers',
    'differences',
    'cross_differences',
    'asked_windows',
    'api_keys',
    'actions',
    'backfills',
    'backfill_series',
  ].map((name) => ({ name })),
  // Views belong to each database.
  { name: 'settings', only: `name not in (${derivedSettings.map((name) => `'${name}'`).join(', ')})` },
]);

/** Tables that stay, and why. */
export const skippedTables: Readonly<Record<string, string>> = Object.freeze({
  migrations: 'the target has its own, of which the newest must be the same',
  request_times: 'requests of the last minute to the service: a minute later they count for nothing',
});

export type MovedColumns = MovedTable & {
  /** A list in SQL, in the same order on both sides. */
  readonly columns: string;
};

/** The rows to move, as the end of a statement after `from`. */
export function rowsToMove({ name, only = 'true' }: MovedTable): string {
  return `tidemark.${name} where ${only}`;
}

/** The tables to move with their columns, except generated ones. */
export async function readTables(side: Side): Promise<MovedColumns[]> {
  const rows = await side.ask((client) => columnsOfTables.on(client, { names }));
  const columns = new Map(rows.map((row) => [row.name, row.columns]));
  return movedTables.map((table) => ({
    ...table,
    columns: (columns.get(table.name) ?? []).map((column) => pg.escapeIdentifier(column)).join(', '),
  }));
}

const names = movedTables.map(({ name }) => name);

const columnsOfTables = statement({
  name: 'columns-of-moved-tables',
  text: `select c.relname::text as name, array_agg(a.attname::text order by a.attname) as columns
         from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.relnamespace = 'tidemark'::regnamespace and c.relname = any ($names)
           and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
         group by c.relname`,
  parameters: { names: listOf(text) },
  row: { name: text, columns: listOf(text) },
});

/** Tables in the schema `tidemark` that no migration created. */
export async function readForeignTables(side: Side): Promise<string[]> {
  const known = [...names, ...Object.keys(skippedTables)];
  const rows = await side.ask((client) => otherTables.on(client, { known }));
  return rows.map(({ name }) => `tidemark.${name}`);
}

const otherTables = statement({
  name: 'tables-of-others',
  text: `select relname::text as name from pg_class
         where relnamespace = 'tidemark'::regnamespace and relkind in ('r', 'p', 'm', 'f') and relname <> all ($known)
         order by 1`,
  parameters: { known: listOf(text) },
  row: { name: text },
});

/** The tables to move that are hypertables. */
export async function readHypertables(side: Side): Promise<ReadonlySet<string>> {
  if ((await side.ask(timescaleVersion)) === null) return new Set();
  return side.ask(listHypertables);
}

/** Sets the target's sequences to the values of the source. */
export async function copySequences(source: Side, target: Side): Promise<void> {
  const here = await source.ask((client) => ownedSequences.on(client, { names }));
  const there = await target.ask((client) => ownedSequences.on(client, { names }));
  const sequences = new Map(there.map((row) => [row.table, row.sequence]));
  for (const { table, sequence } of here) {
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

const ownedSequences = statement({
  name: 'owned-sequences',
  text: `
    select c.relname::text as table,
           pg_get_serial_sequence('tidemark.' || quote_ident(c.relname), a.attname) as sequence
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'tidemark'::regnamespace and c.relname = any ($names) and a.attidentity <> ''`,
  parameters: { names: listOf(text) },
  row: { table: text, sequence: text },
});
