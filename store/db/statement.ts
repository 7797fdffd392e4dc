/**
 * Statements with parameters by name, and rows whose types follow from their columns.
 *
 * The types of parameters are written into the text as casts, so that `$now` may be used for everything that a
 * `timestamptz` is good for. A list of rows is one parameter: `from $moved` reads it as a table, whose columns are
 * named like its fields in snake case. `test/store/db/statement.test.ts` compares the columns of every statement with
 * PostgreSQL's. Whether one is null is a promise.
 */

import pg from 'pg';
import type { EpochMs, Range } from '../../model/intervals.ts';
import { types as databaseTypes, parseTimestamp, timeRange, timeRanges, timestamp } from './values.ts';

/** A type of PostgreSQL, and what its values are here. */
export interface SqlType<Value> {
  readonly name: string;
  readonly oid: number;
  encode(value: Value): unknown;
}

/** Rows as one parameter. */
export interface RowsType<Columns extends Shape, Value = ReadonlyArray<RowOf<Columns>>> {
  readonly columns: Columns;
  /** An array for each column, of rows in another form; absent: they are objects. */
  readonly arraysOf?: (value: Value) => readonly unknown[];
}

export type Shape = Readonly<Record<string, SqlType<unknown>>>;

/** Columns of which one value of a row is made. */
export interface Group<Value> {
  readonly columns: Shape;
  make(columns: Readonly<Record<string, unknown>>): Value;
}

/** The columns of rows, in their order. */
export type RowShape = Readonly<Record<string, SqlType<unknown> | Group<unknown>>>;
export type Parameters = Readonly<Record<string, SqlType<unknown> | RowsType<Shape, never>>>;

export type RowOf<Columns extends RowShape> = { readonly [Name in keyof Columns]: ValueOf<Columns[Name]> };
type Nothing = Readonly<Record<never, never>>;
type ValueOf<Type> = Type extends SqlType<infer Value> | Group<infer Value>
  ? Value
  : Type extends RowsType<Shape, infer Value>
    ? Value
    : never;
export type ValuesOf<Of extends Parameters> = { readonly [Name in keyof Of]: ValueOf<Of[Name]> };

function type<Value>(name: string, oid: number, encode: (value: Value) => unknown = (value) => value): SqlType<Value> {
  return Object.freeze({ name, oid, encode });
}

export const int4 = type<number>('integer', 23);
/** Of integers, in a row. */
export const int4s = type<readonly number[]>('integer[]', 1007);
export const int8 = type<number>('bigint', 20);
export const float8 = type<number>('double precision', 701);
export const bool = type<boolean>('boolean', 16);
export const text = type<string>('text', 25);
/** Of texts, in a row. */
export const texts = <Value extends string | null>() => type<readonly Value[]>('text[]', 1009);
/** Decimals keep their digits. */
export const numeric = type<string>('numeric', 1700);
/** Infinity stands for a time after all others, minus infinity for one before them, as a parameter. */
export const time = type<EpochMs>('timestamptz', 1184, (timeMs) =>
  Math.abs(timeMs) === Number.POSITIVE_INFINITY ? (timeMs > 0 ? 'infinity' : '-infinity') : timestamp(timeMs),
);
/** Null end: open-ended. */
export type OpenRange = { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
export const openRange = type<OpenRange>('tstzrange', 3910, ({ startMs, endMs }) => timeRange(startMs, endMs));
export const range = openRange as SqlType<unknown> as SqlType<Range>;
export const ranges = type<readonly Range[]>('tstzmultirange', 4534, timeRanges);
/** A text of which only some values occur. */
export const oneOf = <Value extends string>(): SqlType<Value> => text as SqlType<Value>;
export const json = <Value>(): SqlType<Value> => type<Value>('json', 114, JSON.stringify);
export const jsonb = <Value>(): SqlType<Value> => type<Value>('jsonb', 3802, JSON.stringify);
export const bytes = type<Buffer>('bytea', 17);

export function nullable<Value>(of: SqlType<Value>): SqlType<Value | null> {
  return Object.freeze({ ...of, encode: (value: Value | null) => (value === null ? null : of.encode(value)) });
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const arrayOids: Readonly<Record<string, number>> = { text: 1009, integer: 1007, 'double precision': 1022 };

export function listOf<Value>(of: SqlType<Value>): SqlType<readonly Value[]> {
  return type(`${of.name}[]`, arrayOids[of.name] ?? 0, (values: readonly Value[]) =>
    values.map((value) => of.encode(value)),
  );
}

export function rowsOf<Columns extends Shape>(columns: Columns): RowsType<Columns> {
  return Object.freeze({ columns });
}

/** Rows in a form of their own. @param arraysOf makes an array for each column. */
export function rowsAs<Value>(columns: Shape, arraysOf: (value: Value) => readonly unknown[]): RowsType<Shape, Value> {
  return Object.freeze({ columns, arraysOf });
}

/** @param make of the columns, by their names in the statement. */
export function group<Columns extends Shape, Value>(
  columns: Columns,
  make: (columns: RowOf<Columns>) => Value,
): Group<Value> {
  return Object.freeze({ columns, make: make as Group<Value>['make'] });
}

/** The columns of a row, in their order. */
export const columnsOf = (row: RowShape): Array<[string, SqlType<unknown>]> =>
  Object.entries(row).flatMap(([name, of]) => ('columns' in of ? Object.entries(of.columns) : [[name, of]]));

export interface Statement<Of extends Parameters, Columns extends RowShape> {
  readonly name: string;
  /** With numbered parameters. */
  readonly text: string;
  readonly row: Columns;
  /** Executes it. @returns its rows. */
  on(client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>): Promise<Array<RowOf<Columns>>>;
  /** Executes it. @returns its first row. @throws Error when it has none, which only a defect does. */
  one(client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>): Promise<RowOf<Columns>>;
  /** Executes it. @returns the columns of its rows, in their order. */
  listsOn(client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>): Promise<unknown[][]>;
}

interface Definition<Of extends Parameters, Columns extends RowShape> {
  /** Of the prepared statement, by which a session keeps its plan. */
  readonly name: string;
  /** Whether it is planned for its values each time, and not prepared. */
  readonly isPlannedAnew?: true;
  readonly text: string;
  /** Absent: it takes none. */
  readonly parameters?: Of;
  /** The columns of its rows, in their order; absent: it has none. */
  readonly row?: Columns;
}

const defined = new Map<string, Statement<Parameters, RowShape>>();
/** Every statement of the modules that are loaded. */
export const definedStatements = (): ReadonlyArray<Statement<Parameters, RowShape>> => [...defined.values()];

/** Values as the types above have them, whatever the connection's own are. */
const types = new pg.TypeOverrides(databaseTypes);
const bounds = /[[(]"([^"]*)",(?:"([^"]*)")?[)\]]/g;
const parseRanges = (text: string): OpenRange[] =>
  [...text.matchAll(bounds)].map(([, start = '', end]) => ({
    startMs: parseTimestamp(start),
    endMs: end === undefined ? null : parseTimestamp(end),
  }));
types.setTypeParser(range.oid, (text) => parseRanges(text)[0] ?? null);
types.setTypeParser(ranges.oid, parseRanges);

/** @throws Error for a name that another statement has, and for a parameter that the text or the list lacks. */
export function statement<Of extends Parameters = Nothing, Columns extends RowShape = Nothing>(
  definition: Definition<Of, Columns>,
): Statement<Of, Columns> {
  const { name, parameters = {} as Of, row = {} as Columns } = definition;
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

  function tableOf(parameter: string, { columns, arraysOf }: RowsType<Shape, never>): string {
    // Made once for all columns, which are encoded one after the other.
    let arrays: readonly unknown[] = [];
    const arrayOf = (values: ValuesOf<Of>, column: string, of: SqlType<unknown>, place: number) => {
      if (arraysOf === undefined)
        return (values[parameter] as ReadonlyArray<Record<string, unknown>>).map((one) => of.encode(one[column]));
      if (place === 0) arrays = arraysOf(values[parameter] as never);
      return arrays[place];
    };
    const casts = Object.entries(columns).map(([column, of], place) =>
      cast(`${of.name}[]`, (values) => arrayOf(values, column, of, place)),
    );
    return `unnest(${casts.join(', ')}) as ${snakeCase(parameter)} (${Object.keys(columns).map(snakeCase).join(', ')})`;
  }

  const isGrouped = Object.values(row).some((of) => 'columns' in of);
  const execute = async (client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>, rowMode?: 'array') => {
    const query = { text: written, values: encoders.map((encode) => encode(values)), types, rowMode };
    return (await client.query(definition.isPlannedAnew ? query : { name, ...query })).rows;
  };
  const on = async (client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>) =>
    isGrouped ? (await execute(client, values, 'array')).map(grouped) : execute(client, values);
  const made: Statement<Of, Columns> = Object.freeze({
    ...{ name, text: written, row, on },
    listsOn: (client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>) => execute(client, values, 'array'),
    async one(client: pg.Pool | pg.ClientBase, values: ValuesOf<Of>) {
      const [first] = await on(client, values);
      if (first === undefined) throw new Error(`the statement ${name} has no row`);
      return first;
    },
  });
  const fields = Object.entries(row);
  function grouped(values: readonly unknown[]): RowOf<Columns> {
    const found: Record<string, unknown> = {};
    let at = 0;
    for (const [field, of] of fields) {
      if (!('columns' in of)) {
        found[field] = values[at++];
        continue;
      }
      const parts: Record<string, unknown> = {};
      for (const column in of.columns) parts[column] = values[at++];
      found[field] = of.make(parts);
    }
    return found as RowOf<Columns>;
  }
  defined.set(name, made as unknown as Statement<Parameters, RowShape>);
  return made;
}

/** The process of the connection's session. */
export const backendPid = statement({
  name: 'backend-pid',
  text: 'select pg_backend_pid() as pid',
  row: { pid: int4 },
});

/**
 * A statement for each of some words, such as the names of datasets, and for others at their first use.
 *
 * @param words those that the test describes. @param make the name of its statement has the word in it.
 */
export function statementsBy<Word extends string, Made>(words: readonly Word[], make: (word: Word) => Made) {
  const all = new Map(words.map((word) => [word, make(word)]));
  return (word: Word): Made => {
    const known = all.get(word) ?? make(word);
    all.set(word, known);
    return known;
  };
}
