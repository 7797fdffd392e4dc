/**
 * The lock on series, which coverage moves under. Points are locked before it, so that no two transactions deadlock.
 *
 * A series may be deleted with its data meanwhile (delete-data.ts). Its row goes first, so a transaction that finds no
 * row to lock rolls back, and leaves nothing of a series that is gone.
 */

import type pg from 'pg';
import { codeOf, TidemarkError } from '../../errors.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { int4, listOf, statement } from '../db/statement.ts';
import { identity, identityColumns } from './series.ts';

/**
 * Locks series for the rest of the transaction, in the order of their ids: two transactions never deadlock.
 *
 * @throws TidemarkError UNKNOWN_SERIES when one was deleted meanwhile: see {@link isSeriesGone}.
 */
export async function lockSeries(client: pg.PoolClient, seriesIds: readonly number[]): Promise<void> {
  assertAllThere(await lock.on(client, { seriesIds }), seriesIds);
}

/** The same for windows, whose series are to be those of their ids. @throws TidemarkError UNKNOWN_SERIES */
export async function lockSeriesOf(client: pg.PoolClient, windows: readonly Identified[]): Promise<void> {
  const seriesIds = windows.map(({ seriesId }) => seriesId);
  assertSame(await lockIdentified.on(client, { seriesIds }), windows);
}

/** Without the lock. @throws TidemarkError UNKNOWN_SERIES unless the window's series is that of its id. */
export async function assertSeriesOf(pool: pg.Pool, window: Identified): Promise<void> {
  assertSame(await identified.on(pool, window), [window]);
}

const identified = statement({
  name: 'identified-series',
  text: `select ${identityColumns} from tidemark.series s where id = $seriesId`,
  parameters: { seriesId: int4 },
  row: identity,
});

const lockIdentified = statement({
  name: 'lock-identified-series',
  text: `select ${identityColumns} from tidemark.series s where id = any ($seriesIds) order by id for no key update`,
  parameters: { seriesIds: listOf(int4) },
  row: identity,
});

const lock = statement({
  name: 'lock-series',
  text: 'select id from tidemark.series where id = any ($seriesIds) order by id for no key update',
  parameters: { seriesIds: listOf(int4) },
  row: { id: int4 },
});

/**
 * Whether the rows are those of the windows. A queue that is younger than its database, which was restored from a
 * backup, may have windows of series whose ids others got.
 *
 * @param found the rows of those that are there. @throws TidemarkError UNKNOWN_SERIES
 */
export function assertSame(found: readonly Identified[], windows: readonly Identified[]): void {
  assertAllThere(
    found.map(({ seriesId: id }) => ({ id })),
    windows.map(({ seriesId }) => seriesId),
  );
  const names = new Map(found.map(({ seriesId, series }) => [seriesId, seriesName(series)]));
  for (const { seriesId, series } of windows) {
    const [name, meant] = [names.get(seriesId), seriesName(series)];
    if (name !== meant) throw new TidemarkError('UNKNOWN_SERIES', `series ${seriesId} is ${name}, and not ${meant}`);
  }
}

interface Identified {
  readonly seriesId: number;
  readonly series: SeriesKey;
}

/** @throws TidemarkError UNKNOWN_SERIES */
function assertAllThere(found: ReadonlyArray<{ readonly id: number }>, seriesIds: readonly number[]): void {
  if (found.length === new Set(seriesIds).size) return;
  const there = new Set(found.map(({ id }) => id));
  const gone = seriesIds.find((id) => !there.has(id));
  throw new TidemarkError('UNKNOWN_SERIES', `series ${gone} was deleted meanwhile`);
}

const foreignKey = '23503';

/** Whether a statement failed because its series was deleted meanwhile. */
export function isSeriesGone(error: unknown): boolean {
  return (error instanceof TidemarkError && error.code === 'UNKNOWN_SERIES') || codeOf(error) === foreignKey;
}
