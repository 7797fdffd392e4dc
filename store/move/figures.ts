/** What both sides are held against each other by: rows and a digest of each table, and of each line of points. */

import { TidemarkError } from '../../errors.ts';
import type { Side } from './side.ts';
import type { MovedTable } from './tables.ts';

/** By line; a table that is compared as a whole has one, named by the empty text. */
export type Figures = ReadonlyMap<string, { readonly rows: number; readonly digest: string }>;

/**
 * The digest is the sum of 64 bits of each row's MD5, so that it does not depend on the rows' order. It is taken of the
 * row as text, with every digit of it.
 */
export async function figuresOf(
  side: Side,
  table: MovedTable & { readonly columns: string },
): Promise<Figures> {
  const line = table.line === null ? `''` : `coalesce(${table.line}::text, '')`;
  const where = table.only === undefined ? '' : ` where ${table.only}`;
  const result = await side.ask((client) =>
    client.query<{ line: string; rows: number; digest: string }>(
      `select ${line} as line, count(*) as rows,
              sum(('x' || left(md5(convert_to(row(${table.columns})::text, 'UTF8')), 16))::bit(64)::bigint)::text as digest
       from tidemark.${table.name}${where} group by 1`,
    ),
  );
  return new Map(result.rows.map(({ line, rows, digest }) => [line, { rows, digest }]));
}

/** @throws TidemarkError MOVE_DIFFERS with the first difference. */
export function assertSame(table: MovedTable, source: Figures, target: Figures): void {
  const lines = [...new Set([...source.keys(), ...target.keys()])];
  const differing = lines.filter((line) => {
    const [here, there] = [source.get(line), target.get(line)];
    return here?.rows !== there?.rows || here?.digest !== there?.digest;
  });
  const [first] = differing;
  if (first === undefined) return;
  const what = table.line === null ? '' : ` of ${table.line} ${first === '' ? 'null' : first}`;
  const [here, there] = [source.get(first)?.rows ?? 0, target.get(first)?.rows ?? 0];
  const how = here === there ? `${here} rows, not all of them the same` : `${here} rows here, ${there} there`;
  const more = differing.length === 1 ? '' : `, and ${differing.length - 1} more`;
  throw new TidemarkError('MOVE_DIFFERS', `tidemark.${table.name}${what}: ${how}${more}`);
}

export function rowsOf(figures: Figures): number {
  let rows = 0;
  for (const one of figures.values()) rows += one.rows;
  return rows;
}
