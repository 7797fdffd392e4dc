/**
 * Statements with parameters by name, and rows whose types follow from their columns.
 *
 * The types of parameters are written into the text as casts, so that `$now` may be used for everything that a
 * `timestamptz` is good for. A list of rows is one parameter: `from $moved` reads it as a table, whose columns are named
 * like its fields in snake case. `test/store/db/statement.test.ts` executes every statement, and compares the columns of
 * its rows with PostgreSQL's. Whether one is null is a promise.
 */

import type pg from 'pg';
import type { EpochMs, Range } from '../../model/intervals.ts';
import { timeRange, timeRanges, timestamp } from './database.ts';

/** A type of PostgreSQL, and what its values are here. */
export interface SqlType<Value> {
  readonly name: string;
  readonly oid: number;
  encode(value: Value): unknown;
}

/** Rows as one parameter. */
export interface RowsType<Columns extends Shape> {
  readonly columns: Columns;
}

export type Shape = Readonly<Record<string, SqlType<unknown>>>;
export type Parameters = Readonly<Record<string, SqlType<unknown> | RowsType<Shape>>>;

export type RowOf<Columns extends Shape> = { readonly [Name in keyof Columns]: ValueOf<Columns[Name]> };
type ValueOf<Type> =
  Type extends SqlType<infer Value>
    ? Value
    : Type extends RowsType<infer Columns>
      ? ReadonlyArray<RowOf<Columns>>
      : never;
export type ValuesOf<Of extends Parameters> = { readonly [Name in keyof Of]: ValueOf<Of[Name]> };

function type<Value>(name: string, oid: number, encode: (value: Value) => unknown = (value) => value): SqlType<Value> {
  return Object.freeze({ name, oid, encode });
}

export const int4 = type<number>('integer', 23);
export const int8 = type<number>('bigint', 20);
export const float8 = type<number>('double precision', 701);
export const bool = type<boolean>('boolean', 16);
export const text = type<string>('text', 25);
/** Decimals keep their digits. */
export const numeric = type<string>('numeric', 1700);
export const time = type<EpochMs>('timestamptz', 1184, timestamp);
export const range = type<Range>('tstzrange', 3910, ({ startMs, endMs }) => timeRange(startMs, endMs));
export const ranges = type<readonly Range[]>('tstzmultirange', 4534, timeRanges);
/** A text of which only some values occur. */
export const oneOf = <Value extends string>(): SqlType<Value> => text as SqlType<Value>;
export const json = <Value>(): SqlType<Value> => type<Value>('json', 114, JSON.stringify);

export function nullable<Value>(of: SqlType<Value>): SqlType<Value | null> {
  return Object.freeze({ ...of, encode: (value: Value | null) => (value === null ? null : of.encode(value)) });
}

/** An array, as a parameter. */
export function listOf<Value>(of: SqlType<Value>): SqlType<readonly Value[]> {
  return type(`${of.name}[]`, 0, (values: readonly Value[]) => values.map((value) => of.encode(value)));
}

export function rowsOf<Columns extends Shape>(columns: Columns): RowsType<Columns> {
  return Object.freeze({ columns });
}

export interface Statement<Of extends Parameters, Columns extends Shape> {
  readonly name: string;
  /** With numbered parameters. */
  readonly text: string;
  readonly row: Columns;
  /** Number of its parameters in PostgreSQL. */
  readonly parameterCount: number;
  /** Executes it. @returns its rows. */
  on(client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>): Promise<Array<RowOf<Columns>>>;
}

interface Definition<Of extends Parameters, Columns extends Shape> {
  /** Of the prepared statement, by which a session keeps its plan. */
  readonly name: string;
  /** Whether it is planned for its values each time, and not prepared. */
  readonly isPlannedAnew?: true;
  readonly text: string;
  readonly parameters: Of;
  /** The columns of its rows, in their order; empty: it has none. */
  readonly row: Columns;
}

const defined = new Map<string, Statement<Parameters, Shape>>();
/** Every statement of the modules that are loaded. */
export const definedStatements = (): ReadonlyArray<Statement<Parameters, Shape>> => [...defined.values()];

/** @throws Error for a name that another statement has, and for a parameter that the text or the list lacks. */
export function statement<Of extends Parameters, Columns extends Shape>(
  definition: Definition<Of, Columns>,
): Statement<Of, Columns> {
  const { name, parameters, row } = definition;
  if (defined.has(name)) throw new Error(`two statements have the name ${name}`);
  const numbered = new Map<string, string>();
  const encoders: Array<(values: ValuesOf<Of>) => unknown> = [];
  const cast = (typeName: string, encode: (values: ValuesOf<Of>) => unknown) =>
    `$${encoders.push(encode)}::${typeName}`;
  const written = definition.text.replaceAll(/\$([a-zA-Z]\w*)/g, (_, parameter: string) => {
    const of = parameters[parameter];
    if (of === undefined) throw new Error(`the statement ${name} has no parameter ${parameter}`);
    const known = numbered.get(parameter);
    if (known !== undefined) return known;
    const sql = 'columns' in of ? tableOf(parameter, of) : cast(of.name, (values) => of.encode(values[parameter]));
    numbered.set(parameter, sql);
    return sql;
  });
  const unused = Object.keys(parameters).filter((parameter) => !numbered.has(parameter));
  if (unused.length > 0) throw new Error(`the statement ${name} does not use ${unused.join(', ')}`);

  function tableOf(parameter: string, { columns }: RowsType<Shape>): string {
    const arrays = Object.entries(columns).map(([column, of]) =>
      cast(`${of.name}[]`, (values) =>
        (values[parameter] as ReadonlyArray<Record<string, unknown>>).map((one) => of.encode(one[column])),
      ),
    );
    return `unnest(${arrays.join(', ')}) as ${snakeCase(parameter)} (${Object.keys(columns).map(snakeCase).join(', ')})`;
  }

  const made: Statement<Of, Columns> = Object.freeze({
    ...{ name, text: written, row, parameterCount: encoders.length },
    on: async (client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>) => {
      const query = { text: written, values: encoders.map((encode) => encode(values)) };
      const result = await client.query(definition.isPlannedAnew ? query : { name, ...query });
      return result.rows;
    },
  });
  defined.set(name, made as unknown as Statement<Parameters, Shape>);
  return made;
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
