/**
 * Moves a database to another server.
 *
 *   refused   A side is not usable: it is in use, both are the same database, or the target is not empty.
 *   copying   One transaction on each side. The source's has a snapshot that was taken once its tables were locked
 *             against writing; the target's is visible to nobody.
 *   compared  Row counts and checksums of both sides are compared within these transactions. If they differ, the
 *             target is rolled back.
 *   moved     The target's transaction is committed, which makes everything visible at once.
 *
 * A crash of either server or of this process before the last step leaves an empty target and an unchanged
 * source. The same command again starts over.
 */

import type { Clock } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import { assertMigrated } from '../../schema/migrate.ts';
import { type Database, disableTimeouts, inTransaction } from '../../store/db/database.ts';
import { bool, int8, statement } from '../../store/db/statement.ts';
import { refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import { openSide, type Side, sideError } from './connection.ts';
import { assertSame, copyTable, summarize } from './copy.ts';
import {
  copySequences,
  type MovedColumns,
  readForeignTables,
  readHypertables,
  readTables,
  rowsToMove,
} from './tables.ts';

export interface MoveOptions {
  readonly from: Database;
  readonly to: Database;
  readonly signal: AbortSignal;
  /** Called with the number of rows, once it is known. */
  readonly onTotal: (rows: number) => void;
  /** Called with the number of copied rows. */
  readonly onRows: (rows: number) => void;
  /** Called before each table is copied, and again before it is compared. */
  readonly onTable: (step: 'copying' | 'comparing', table: TableStep) => void;
}

interface TableStep {
  readonly name: string;
  /** From 1. */
  readonly number: number;
  readonly of: number;
}

export interface Moved {
  /** Rows of the tables that have some. */
  readonly tables: ReadonlyMap<string, number>;
  readonly rows: number;
  /** Tables in the schema that are not Tidemark's, and were not moved. */
  readonly foreignTables: readonly string[];
}

/**
 * @throws TidemarkError BAD_ARGUMENT, TARGET_NOT_EMPTY, DATABASE_IN_USE, MOVE_DIFFERS, INTERRUPTED, and
 * errors of either database.
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
    throw options.signal.aborted ? interrupted(error) : error;
  } finally {
    source.abandon();
  }
}

async function moveBetween(source: Side, target: Side, options: MoveOptions): Promise<Moved> {
  const throwIfAborted = () => {
    if (options.signal.aborted) throw interrupted();
  };
  await assertDifferentDatabases(source, target);
  const tables = await readTables(target);
  await assertEmpty(target, tables);
  await lockSource(source, tables);
  await lockTarget(target, tables);
  throwIfAborted();
  options.onTotal(await countRows(source, tables));
  const tell = (step: 'copying' | 'comparing', { name }: MovedColumns, place: number) =>
    options.onTable(step, { name, number: place + 1, of: tables.length });
  for (const [place, table] of tables.entries()) {
    tell('copying', table, place);
    await copyTable({ source, target }, table, options.onRows);
    throwIfAborted();
  }
  const counts = new Map<string, number>();
  for (const [place, table] of tables.entries()) {
    tell('comparing', table, place);
    const [here, there] = await Promise.all([summarize(source, table), summarize(target, table)]);
    assertSame(table, here, there);
    if (here.rows > 0) counts.set(table.name, here.rows);
    throwIfAborted();
  }
  await copySequences(source, target);
  const foreignTables = await readForeignTables(source);
  throwIfAborted();
  await target.commit().catch((error: unknown) => {
    if (!(error instanceof TidemarkError)) throw error;
    throw new TidemarkError(error.code, `${error.message}, during the commit`, {
      cause: error,
      remedy: 'run the same command again: TARGET_NOT_EMPTY then means that everything was moved',
    });
  });
  return { tables: counts, rows: [...counts.values()].reduce((sum, rows) => sum + rows, 0), foreignTables };
}

/**
 * Locks the tables before the snapshot is taken: writers wait, and so do columnstore policies. Compression
 * moves rows to other chunks, where an older snapshot does not see them.
 */
async function lockSource(source: Side, tables: readonly MovedColumns[]): Promise<void> {
  const names = tables.map(({ name }) => `tidemark.${name}`).join(', ');
  await source.ask((client) => client.query(`lock table ${names} in share mode`));
}

async function countRows(source: Side, tables: readonly MovedColumns[]): Promise<number> {
  const counts = tables.map((table) => `(select count(*) from ${rowsToMove(table)})`).join(' + ');
  const result = await source.ask((client) => client.query<{ rows: number }>(`select ${counts} as rows`));
  return result.rows[0]?.rows ?? 0;
}

function interrupted(cause?: unknown): TidemarkError {
  return new TidemarkError('INTERRUPTED', 'stopped before everything was moved; the target is unchanged', {
    cause,
    remedy: 'run the same command again: it starts over',
  });
}

/** @throws TidemarkError BAD_ARGUMENT when both are the same database, whatever its address. */
async function assertDifferentDatabases(source: Side, target: Side): Promise<void> {
  // An advisory lock belongs to one database: if the target cannot get it, the source holds it there.
  const key = Math.floor(Math.random() * 2 ** 48);
  await source.ask((client) => client.query('select pg_advisory_xact_lock($1)', [key]));
  const { free } = await target.ask((client) => tryLock.one(client, { key }));
  if (free) return;
  throw new TidemarkError('BAD_ARGUMENT', '--to names the source database', { remedy: 'name another one' });
}

const tryLock = statement({
  name: 'try-lock-database',
  text: 'select pg_try_advisory_xact_lock($key) as free',
  parameters: { key: int8 },
  row: { free: bool },
});

/** @throws TidemarkError TARGET_NOT_EMPTY with the tables that hold rows. */
async function assertEmpty(target: Side, tables: readonly MovedColumns[]): Promise<void> {
  const counts = tables.map(
    (table) => `select '${table.name}' as name where exists (select from ${rowsToMove(table)})`,
  );
  const result = await target.ask((client) => client.query<{ name: string }>(counts.join(' union all ')));
  if (result.rows.length === 0) return;
  const names = result.rows.map(({ name }) => `tidemark.${name}`);
  throw new TidemarkError('TARGET_NOT_EMPTY', `the target is not empty: ${names.join(', ')}`);
}

/**
 * Locks out every other writer until the end. Plain tables are truncated too, though they are empty: a failed
 * move then frees their disk space at once, as dropped chunks do.
 */
async function lockTarget(target: Side, tables: readonly MovedColumns[]): Promise<void> {
  const chunked = await readHypertables(target);
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

/** Analyzes the tables and refreshes the rollups. If it fails, autovacuum and the scheduler do it later. */
export async function refreshTarget(
  target: Database,
  options: { clock: Clock; tables: readonly string[]; signal: AbortSignal },
): Promise<void> {
  await inTransaction(target, async (client) => {
    await disableTimeouts(client);
    for (const table of options.tables) {
      if (!options.signal.aborted) await client.query(`analyze tidemark.${table}`);
    }
  });
  const { clock, signal } = options;
  await refreshRollups(target, { clock, nowMs: clock.now(), signal });
}
