/**
 * Records work over ranges of series as a backfill while it runs: signs of life and progress, and its end. Somebody may
 * cancel it in another process: the work is then stopped as by Ctrl-C, and ends with CANCELLED.
 */

import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { messageOf, TidemarkError } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { isTracking } from '../../model/lanes.ts';
import { askedRange } from '../../planning/periods.ts';
import type { Database } from '../../store/db/database.ts';
import { explainDatabaseError } from '../../store/db/failure.ts';
import {
  type BackfilledSeries,
  endBackfill,
  insertBackfill,
  type NewBackfill,
  noteAlive,
  type WindowsSettled,
} from '../../store/ledger/backfills.ts';
import type { TrackedSeries } from '../../store/series/series.ts';

export interface Recorded {
  readonly id: number;
  /** Aborted by the caller's signal, and when it is cancelled. */
  readonly signal: AbortSignal;
  /** Looks at once whether it was cancelled. */
  look(): Promise<void>;
  /** Of windows, with the next sign of life. */
  note(settled: WindowsSettled): void;
}

interface RecordContext {
  readonly clock: Clock;
  readonly database: Database;
  readonly log: Logger;
}

const signOfLifeMs = 2000;

/**
 * @param work returns its result, which `say` puts into a sentence, or into an error where it was stopped.
 * @throws TidemarkError CANCELLED, and what the work throws.
 */
export async function recorded<Result>(
  { clock, database, log }: RecordContext,
  asked: NewBackfill & { readonly signal: AbortSignal },
  work: (record: Recorded) => Promise<Result>,
  say: (result: Result) => string | TidemarkError,
): Promise<Result> {
  const id = await insertBackfill(database.pool, asked, { nowMs: clock.now(), isAlive: true });
  const cancelled = new AbortController();
  let settled: WindowsSettled | null = null;

  async function look(): Promise<void> {
    const [row] = await noteAlive.on(database.pool, { id, progress: settled });
    if (row?.state === 'cancelled') cancelled.abort();
  }

  // An outage of the database is what the work has to deal with.
  const signs = clock.repeat(signOfLifeMs, () => look().catch(() => {}), signOfLifeMs);
  const end = async (state: 'done' | 'failed' | 'interrupted', result: string) => {
    const endedMs = state === 'done' || !isTracking(asked.kind) ? clock.now() : null;
    await signs.close();
    await look().catch(() => {});
    if (!cancelled.signal.aborted)
      await endBackfill
        .on(database.pool, { id, state, result, endedMs })
        .catch((error: unknown) =>
          log.warn({ cause: messageOf(error) }, 'the end of a backfill could not be recorded'),
        );
    if (cancelled.signal.aborted) throw new TidemarkError('CANCELLED', `backfill ${id} was cancelled`);
  };
  const endWith = (error: unknown) => {
    if (!(error instanceof TidemarkError)) return end('failed', `UNEXPECTED: ${messageOf(error)}`);
    return end(error.code === 'INTERRUPTED' ? 'interrupted' : 'failed', `${error.code}: ${error.message}`);
  };
  try {
    const result = await work({
      id,
      signal: AbortSignal.any([asked.signal, cancelled.signal]),
      look,
      note(of) {
        settled = of;
      },
    });
    const said = say(result);
    await (typeof said === 'string' ? end('done', said) : endWith(said));
    return result;
  } catch (thrown) {
    const error = explainDatabaseError(thrown);
    if (error instanceof TidemarkError && error.code === 'CANCELLED') throw error;
    await endWith(error);
    throw thrown;
  } finally {
    await signs.close();
  }
}

/** The windows of a repair or a verification in the queue, for whoever cancels it. */
export const runOf = (backfillId: number): string => backfillId.toString(16).padStart(16, '0');

/** What is asked for of a tracked series. */
export function askedOf(
  { seriesId, series, before, tracked }: Pick<TrackedSeries, 'seriesId' | 'series' | 'before' | 'tracked'>,
  { fromMs, toMs }: { readonly fromMs: EpochMs; readonly toMs: EpochMs | null },
  at: { readonly nowMs: EpochMs; readonly graceMs: number },
): BackfilledSeries {
  return { seriesId, range: askedRange(series, { startMs: fromMs, endMs: toMs }, at), before, after: tracked };
}
