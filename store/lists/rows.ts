/** The entries of an answer, by the columns of their list. */

import { objectOf } from '../../model/json.ts';
import { keyNames, type List, type ListColumn, type ListColumnType } from '../../model/list.ts';
import type { ListRow } from '../../model/lists/index.ts';
import { bool, int8, nullable, numeric, rowsOf, type Shape, type SqlType, text } from '../db/statement.ts';

const types: Readonly<Record<ListColumnType, SqlType<never>>> = {
  ...{ text, bigint: int8, numeric, boolean: bool },
  // UNIX milliseconds, of which later ones than a text of JavaScript can say.
  timestamptz: int8,
};

const storedColumns = ({ details, detailsOfNow, values }: List): readonly ListColumn[] => [
  ...details,
  ...detailsOfNow,
  ...values,
];

/** Entries as a parameter. */
export const entriesOf = (list: List) =>
  rowsOf<Shape>({
    ...keyColumns(list),
    ...Object.fromEntries(storedColumns(list).map(({ name, type }) => [name, nullable(types[type])])),
  });
export const keysOf = (list: List) => rowsOf<Shape>(keyColumns(list));

const keyColumns = (list: List) => Object.fromEntries(keyNames(list).map((name) => [name, text]));

/** A column of entries as it is stored. */
export const storedValue = ({ name, type }: ListColumn) =>
  type === 'timestamptz'
    ? `timestamptz 'epoch' + entries.${name} * interval '1 millisecond' as ${name}`
    : `entries.${name}`;

/**
 * The entries, of rows with the same key the first.
 *
 * @param asset the asset of the entries, which is then the first column of the key.
 */
export function readEntries(list: List, asset: string | null, rows: readonly ListRow[]): ListRow[] {
  const byKey = new Map<string, ListRow>();
  for (const row of rows) {
    const name = JSON.stringify(list.key.map(({ json }) => row[json]));
    if (!byKey.has(name)) byKey.set(name, row);
  }
  const columns = [...list.key, ...storedColumns(list)];
  return [...byKey.values()].map((row) => ({
    ...ofAsset(asset),
    ...Object.fromEntries(columns.map(({ name, json }) => [name, row[json] ?? null])),
  }));
}

/**
 * The keys of invalid rows, so that these entries count as listed. Null where a row does not name its key: then any
 * entry may be missing because of it.
 */
export function readKeys(
  { key }: List,
  asset: string | null,
  rejected: readonly { readonly raw: string }[],
): ListRow[] | null {
  const keys: ListRow[] = [];
  for (const { raw } of rejected) {
    // A row that was too long was truncated, and is no longer valid JSON.
    const row = objectOf(raw) ?? {};
    const values = key.map(({ json }) => row[json] ?? (json === 'id' ? row.exchangeId : undefined));
    if (!values.every((part) => typeof part === 'string')) return null;
    keys.push({ ...ofAsset(asset), ...Object.fromEntries(key.map(({ name }, place) => [name, values[place] ?? ''])) });
  }
  return keys;
}

const ofAsset = (asset: string | null) => (asset === null ? {} : { asset });
