/** What the steps of an attempt share. */

import type { Logger } from 'pino';
import type { EpochMs } from '../contract/intervals.ts';
import { seriesName } from '../contract/series.ts';
import type { Attempt } from '../queue/outcome.ts';
import type { RequestQueue } from '../queue/requests.ts';
import { tellRun } from '../store/asked.ts';
import { postponeProbe } from '../store/beginning.ts';
import type { Database } from '../store/database.ts';
import { incompleteKind, putMissingAside } from '../store/missing-there.ts';
import { deferWindow } from '../store/pending.ts';
import type { OutageWatch } from './outage.ts';
import type { RangeTrials } from './range-trials.ts';
import type { WorkerTold } from './told.ts';
import type { Work } from './work.ts';

export interface AttemptParts {
  readonly database: Database;
  readonly requests: RequestQueue;
  readonly sourceWatch: OutageWatch;
  /** For a source that answers with a notice in place of data. */
  readonly noticeWatch: OutageWatch;
  readonly storeWatch: OutageWatch;
  /** Series that the source did not know when it was last asked. */
  readonly unknownSeries: Set<number>;
  /** Until when the source holds us off, so that those who were under way together say it once. */
  readonly heldOff: { untilMs: EpochMs };
  readonly rangeTrials: RangeTrials;
  readonly failedRetryMs: number;
  readonly log: Logger;
  readonly now: () => EpochMs;
  readonly random: () => number;
  readonly told?: WorkerTold | undefined;
}

export type AttemptFacts = Pick<Attempt<unknown>, 'number' | 'last' | 'stopping'>;

/** A queue that is away cannot be paused, starts nothing, and says so by itself. */
export async function pause(ms: number, parts: Pick<AttemptParts, 'requests'>): Promise<void> {
  await parts.requests.pauseForMs(ms).catch(() => {});
}

/** Puts the window aside: it stays a gap, shown with its reason, and is asked for again at `retryAtMs`. */
export async function putAside<Answer>(
  failure: { kind: string; message: string; nowMs: EpochMs; retryAtMs: EpochMs },
  work: Work<Answer>,
  attempt: AttemptFacts,
  parts: AttemptParts,
): Promise<void> {
  // An outage is said once, and puts windows aside by the hundred: `gaps` lists them. So do the source's own gaps.
  const byTheHundred =
    parts.sourceWatch.isAway() || parts.storeWatch.isAway() || failure.kind === incompleteKind;
  const level = byTheHundred ? 'debug' : 'warn';
  if (work.window !== null) {
    const window = work.whole ?? work.window;
    if (await tellAsker(failure, work, parts)) return;
    if (window.lane === 'probe') await postponeProbe(parts.database, window.seriesId, failure.retryAtMs);
    else if (failure.kind === incompleteKind && window.lane !== 'reread')
      // Only of what was asked for did the source say so.
      await putMissingAside(parts.database.pool, {
        ...failure,
        seriesId: window.seriesId,
        range: work.window,
        attempts: attempt.number,
      });
    else
      await deferWindow(parts.database, {
        ...failure,
        seriesId: window.seriesId,
        window,
        attempts: attempt.number,
        ofCovered: window.lane === 'reread',
      });
  }
  await work.giveUp?.(failure);
  parts.told?.putAside(work);
  parts.log[level](
    { ...nameOf(work), cause: failure.message, attempts: attempt.number },
    'put aside for now',
  );
}

/**
 * Tells the command that asked for the window why it has no answer: what it asks for is covered, and stays so.
 *
 * @returns false when no command did.
 */
export async function tellAsker<Answer>(
  failure: { kind: string; message: string; nowMs: EpochMs },
  work: Work<Answer>,
  { database }: Pick<AttemptParts, 'database'>,
): Promise<boolean> {
  const window = work.whole ?? work.window;
  if (window?.run === undefined) return false;
  const { run, seriesId } = window;
  const { kind, message, nowMs } = failure;
  await tellRun(database.pool, { run, seriesId, window, nowMs }, { kind, message });
  return true;
}

/** The work's name for the log. */
export function nameOf<Answer>(work: Work<Answer>): object {
  if (work.window === null) return work.name === undefined ? { dataset: work.dataset } : { list: work.name };
  const { series, startMs, endMs } = work.window;
  return {
    series: seriesName(series),
    from: new Date(startMs).toISOString(),
    to: new Date(endMs).toISOString(),
  };
}
