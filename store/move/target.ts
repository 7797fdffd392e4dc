/** The target of a move: another database, with the same schema, that holds nothing and that nobody works on. */

import { TidemarkError } from '../../errors.ts';
import { hypertablesOf, type MovedColumns } from './catalogue.ts';
import type { Side } from './side.ts';

/** @throws TidemarkError BAD_ARGUMENT when both are one database, whatever it is called. */
export async function assertAnother(source: Side, target: Side): Promise<void> {
  // A lock of this kind is of one database: who cannot have it is where the other holds it.
  const key = String(Math.floor(Math.random() * 2 ** 48));
  await source.ask((client) => client.query('select pg_advisory_xact_lock($1)', [key]));
  const result = await target.ask((client) =>
    client.query<{ free: boolean }>('select pg_try_advisory_xact_lock($1) as free', [key]),
  );
  if (result.rows[0]?.free === true) return;
  throw new TidemarkError('BAD_ARGUMENT', '--to names the database that is to be moved', {
    remedy: 'name another one',
  });
}

/** @throws TidemarkError TARGET_NOT_EMPTY with the tables that hold rows. */
export async function assertEmpty(target: Side, tables: readonly MovedColumns[]): Promise<void> {
  const counts = tables.map(
    ({ name, only = 'true' }) =>
      `select '${name}' as name where exists (select from tidemark.${name} where ${only})`,
  );
  const result = await target.ask((client) => client.query<{ name: string }>(counts.join(' union all ')));
  if (result.rows.length === 0) return;
  const names = result.rows.map(({ name }) => `tidemark.${name}`);
  throw new TidemarkError('TARGET_NOT_EMPTY', `the target holds something already, in ${names.join(', ')}`);
}

/**
 * Keeps every other writer out, until the end. Plain tables are truncated too, which they have nothing to lose by: a move
 * that fails then gives its disk space back at once, as chunks that are gone with it do.
 */
export async function takeTables(target: Side, tables: readonly MovedColumns[]): Promise<void> {
  const chunked = await hypertablesOf(target);
  const named = (some: readonly MovedColumns[]) => some.map(({ name }) => `tidemark.${name}`).join(', ');
  const locked = tables.filter(({ name, only }) => chunked.has(name) || only !== undefined);
  const plain = tables.filter((table) => !locked.includes(table));
  await target.ask((client) =>
    client.query(`lock table only ${named(locked).replaceAll(', ', ', only ')} in exclusive mode`),
  );
  await target.ask((client) => client.query(`lock table ${named(plain)} in exclusive mode`));
  await assertEmpty(target, tables);
  await target.ask((client) => client.query(`truncate ${named(plain)}`));
}
