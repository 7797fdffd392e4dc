/** Deletes series with all that is stored of them, and takes their windows out of the queue. */

import { TidemarkError } from '../../errors.ts';
import { counted, formatCount, formatSpan } from '../../model/format.ts';
import { seriesName } from '../../model/series.ts';
import {
  beginDeletion,
  countData,
  type Deletion,
  deleteRows,
  endDeletion,
  mayDeleteSeries,
  type OpenDeletion,
  type StoredData,
} from '../../store/series/delete-data.ts';
import { askQueues, type OperationContext } from '../context.ts';
import { joinQueues } from '../sources/queues.ts';

/** A planning pass that has read the gaps before queues its windows within this time. */
const passMs = 1500;

type DeletingContext = Pick<OperationContext, 'database' | 'clock' | 'openQueues' | 'phase'>;

/** @throws TidemarkError DATABASE_REFUSED unless the role of the connection owns the data. */
export async function assertMayDelete({ database }: Pick<OperationContext, 'database'>): Promise<void> {
  const { role, may } = await mayDeleteSeries.one(database.pool, {});
  if (may) return;
  throw new TidemarkError('DATABASE_REFUSED', `role ${JSON.stringify(role)} may not delete series`, {
    remedy:
      'use the role that owns the database; with Docker Compose: ' +
      "`docker compose run --rm migrate untrack 'NAME' --delete-data`",
  });
}

/**
 * What is stored of series that may be deleted.
 *
 * @throws TidemarkError BAD_ARGUMENT when something would bring one back.
 */
export async function readDeletable(
  { database }: Pick<OperationContext, 'database'>,
  seriesIds: readonly number[],
): Promise<StoredData[]> {
  const data = await countData.on(database.pool, { seriesIds });
  for (const { series, isWatched, running } of data) {
    const refused = (why: string, remedy: string) =>
      new TidemarkError('BAD_ARGUMENT', `${seriesName(series)} ${why}; nothing was deleted`, { remedy });
    if (isWatched)
      throw refused('is in the watch list, which would track it again', 'take it out, and `tidemark apply` first');
    if (running !== null)
      throw refused(`is being fetched by backfill ${running}`, `\`tidemark backfills cancel ${running}\` stops it`);
  }
  return data;
}

/** `1,440 points from 2024-03-01 to 2024-03-02, 2 revisions, 5 rows of the ledger, no rejected rows`. */
export function dataText({ points, revisions, requests, rejected, earliest, newest }: Deletion): string {
  const span = earliest === null ? '' : ` ${formatSpan({ startMs: earliest, endMs: newest })}`;
  const ledger = `${formatCount(requests)} ${requests === 1 ? 'row' : 'rows'} of the ledger`;
  const others = `${counted(revisions, 'revision')}, ${ledger}, ${counted(rejected, 'rejected row')}`;
  return `${counted(points, 'point')}${span}, ${others}`;
}

/** @returns null: another process has deleted it. @throws the signal's reason when it stopped this. */
export async function deleteSeries(
  context: DeletingContext,
  data: StoredData,
  by: string,
  signal: AbortSignal,
): Promise<OpenDeletion | null> {
  const begun = await beginDeletion(context.database, data, { by, nowMs: context.clock.now() });
  if (begun !== null) await finishDeletion(context, begun, signal);
  return begun;
}

/** Goes on with a deletion that has begun. */
export async function finishDeletion(
  context: DeletingContext,
  { id, request }: OpenDeletion,
  signal: AbortSignal,
): Promise<void> {
  const { database, clock, phase } = context;
  const { id: seriesId, sources } = request;
  const name = seriesName(request.series);
  phase(`deleting ${name}`);
  await askQueues(
    context,
    async (queues) => {
      const requests = joinQueues(queues, sources);
      await requests.dropSeries(seriesId, { commands: true });
      await clock.sleep(passMs, signal);
      await requests.dropSeries(seriesId, { commands: true });
    },
    // A worker drops the answers to them.
    () => {},
  );
  await deleteRows(database, seriesId, {
    signal,
    onPiece: (rows) => phase(`deleting ${name}: ${formatCount(rows)} rows so far`),
  });
  await endDeletion.on(database.pool, { id, result: `deleted ${name}: ${dataText(request)}`, nowMs: clock.now() });
}
