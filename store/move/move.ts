/**
 * Moves all that a database holds to another one.
 *
 *   refused   Something is wrong with a side: it is in use, it is the same database, the target holds something.
 *   under way One transaction on each side. The source's sees it as it was when its tables were locked against writing;
 *             the target's is seen by nobody.
 *   compared  Rows and digests of both sides are read within the same two transactions. Where they differ the target's is
 *             rolled back.
 *   moved     The target's transaction is committed. Nothing but that makes any of it seen.
 *
 * What a crash leaves, of either server or of this process, before the last step: an empty target, and a source that
 * nothing was written to. The same command again begins anew.
 */

import { TidemarkError } from '../../errors.ts';
import type { Database } from '../database.ts';
import { assertMigrated } from '../migrate.ts';
import { carrySequencesOver, type MovedColumns, strangeTables, tablesOf } from './catalogue.ts';
import { assertSame, figuresOf, rowsOf } from './figures.ts';
import { openSide, type Side, sideError } from './side.ts';
import { copyTable } from './stream.ts';
import { assertAnother, assertEmpty, takeTables } from './target.ts';

export interface MoveOptions {
  readonly from: Database;
  readonly to: Database;
  readonly signal: AbortSignal;
  /** Told how many rows there are, when that is known. */
  readonly onTotal: (rows: number) => void;
  /** Told of rows as they pass. */
  readonly onRows: (rows: number) => void;
  /** Told when all are there and the comparison begins. */
  readonly onCompare: () => void;
}

export interface Moved {
  /** Rows by table, of those that had some. */
  readonly tables: ReadonlyMap<string, number>;
  readonly rows: number;
  /** Tables in the schema that are none of Tidemark's, and stayed. */
  readonly strange: readonly string[];
}

/**
 * @throws TidemarkError BAD_ARGUMENT, TARGET_NOT_EMPTY, DATABASE_IN_USE, MOVE_DIFFERS, INTERRUPTED, and what is wrong with
 * either database.
 */
export async function move(options: MoveOptions): Promise<Moved> {
  await assertMigrated(options.to.pool).catch((error: unknown) => {
    throw sideError(error, 'target');
  });
  const source = await openSide(options.from, 'source');
  try {
    const target = await openSide(options.to, 'target');
    const cancel = () => {
      source.cancel();
      target.cancel();
    };
    options.signal.addEventListener('abort', cancel);
    try {
      return await moveBetween(source, target, options);
    } finally {
      options.signal.removeEventListener('abort', cancel);
      target.abandon();
    }
  } catch (error) {
    throw options.signal.aborted ? stopped(error) : error;
  } finally {
    source.abandon();
  }
}

async function moveBetween(source: Side, target: Side, options: MoveOptions): Promise<Moved> {
  const goOn = () => {
    if (options.signal.aborted) throw stopped();
  };
  await assertAnother(source, target);
  const tables = await tablesOf(target);
  await assertEmpty(target, tables);
  await holdStill(source, tables);
  await takeTables(target, tables);
  goOn();
  options.onTotal(await countAll(source, tables));
  for (const table of tables) {
    await copyTable({ source, target }, table, options.onRows);
    goOn();
  }
  options.onCompare();
  const counts = new Map<string, number>();
  for (const table of tables) {
    const [here, there] = await Promise.all([figuresOf(source, table), figuresOf(target, table)]);
    assertSame(table, here, there);
    if (rowsOf(here) > 0) counts.set(table.name, rowsOf(here));
    goOn();
  }
  await carrySequencesOver(source, target);
  const strange = await strangeTables(source);
  goOn();
  await target.commit().catch((error: unknown) => {
    if (!(error instanceof TidemarkError)) throw error;
    throw new TidemarkError(error.code, `${error.message}, while all was being committed`, {
      cause: error,
      remedy: 'run the same command again: TARGET_NOT_EMPTY then says that all of it is there',
    });
  });
  return { tables: counts, rows: [...counts.values()].reduce((sum, rows) => sum + rows, 0), strange };
}

/**
 * Makes writers wait, and policies of the columnstore: rows that those move from chunk to chunk, a snapshot from before does
 * not see where they are then.
 */
async function holdStill(source: Side, tables: readonly MovedColumns[]): Promise<void> {
  const names = tables.map(({ name }) => `tidemark.${name}`).join(', ');
  await source.ask((client) => client.query(`lock table ${names} in share mode`));
}

async function countAll(source: Side, tables: readonly MovedColumns[]): Promise<number> {
  let total = 0;
  for (const { name, only = 'true' } of tables) {
    const result = await source.ask((client) =>
      client.query<{ rows: number }>(`select count(*) as rows from tidemark.${name} where ${only}`),
    );
    total += result.rows[0]?.rows ?? 0;
  }
  return total;
}

function stopped(cause?: unknown): TidemarkError {
  return new TidemarkError('INTERRUPTED', 'stopped before all was moved; the target is as it was', {
    cause,
    remedy: 'run the same command again: it begins anew',
  });
}
