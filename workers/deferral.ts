/** Defers work that failed, and names it in the log. */

import type { EpochMs } from '../model/intervals.ts';
import { lanes } from '../model/lanes.ts';
import { type Reason, reasons } from '../model/reasons.ts';
import { seriesName } from '../model/series.ts';
import { isCommand } from '../model/window.ts';
import { publishResult } from '../store/commit/command-results.ts';
import { deferUpstreamGaps, deferWindow, postponeProbe } from '../store/commit/deferred-windows.ts';
import type { RunningSource } from './running-source.ts';
import type { Work } from './work.ts';
import type { AttemptFacts, WorkerContext } from './worker-context.ts';

/** An unreachable queue cannot be paused; it starts no job, and logs that itself. */
export async function pause(ms: number, { requests }: RunningSource): Promise<void> {
  await requests.pauseForMs(ms).catch(() => {});
}

/** Defers the window: it stays a gap, shown with its reason, and is requested again at `retryAtMs`. */
export async function deferWork<Answer>(
  failure: {
    reason: Reason;
    /** Of the error, as the ledger and commands have it. */
    kind: string;
    message: string;
    /** When the attempt began. */
    startedMs: EpochMs;
    nowMs: EpochMs;
    retryAtMs: EpochMs;
    maxPauseMs?: number;
  },
  work: Work<Answer>,
  attempt: AttemptFacts,
  context: WorkerContext,
): Promise<void> {
  const isLacking = reasons[failure.reason].isLeftToNext;
  // An outage is logged once. It defers windows in bulk, which `gaps` lists; so do the source's own gaps.
  const isInBulk =
    context.source.breaker.explains(failure.startedMs) || context.storeBreaker.explains(failure.startedMs) || isLacking;
  const level = isInBulk ? 'debug' : 'warn';
  const { window: asked, whole: window } = work;
  if (asked !== null && window !== null) {
    if (await publishCommandResult(failure, work, context)) return;
    if (window.lane === 'probe')
      await postponeProbe.on(context.database.pool, { seriesId: window.seriesId, untilMs: failure.retryAtMs });
    else if (isLacking && !lanes[window.lane].rereads)
      // The source's statement concerns the requested range only.
      await deferUpstreamGaps(context.database.pool, {
        ...failure,
        source: context.source.name,
        seriesId: window.seriesId,
        range: asked,
        attempts: attempt.number,
      });
    else
      await deferWindow(context.database.pool, {
        ...failure,
        errorKind: failure.reason === 'failed' ? failure.kind : undefined,
        source: context.source.name,
        seriesId: window.seriesId,
        window,
        attempts: attempt.number,
        ofCovered: lanes[window.lane].rereads,
      });
  }
  await work.giveUp?.(failure);
  context.events?.deferred(work);
  context.log[level]({ ...nameOf(work), cause: failure.message, attempts: attempt.number }, 'window deferred');
}

/**
 * Publishes to the command that requested the window why there is no answer. The window is covered, and stays so.
 *
 * @returns false when no command requested it.
 */
async function publishCommandResult<Answer>(
  failure: { kind: string; message: string; nowMs: EpochMs },
  work: Work<Answer>,
  { database }: Pick<WorkerContext, 'database'>,
): Promise<boolean> {
  const { window } = work;
  if (window === null || !isCommand(window)) return false;
  const { kind, message, nowMs } = failure;
  await publishResult(database.pool, { window, nowMs }, { kind, message });
  return true;
}

/** The work's name for the log. */
export function nameOf<Answer>(work: Work<Answer>): object {
  if (work.window === null) return work.name === undefined ? { dataset: work.dataset } : { list: work.name };
  const { series, startMs, endMs } = work.window;
  return { series: seriesName(series), from: new Date(startMs).toISOString(), to: new Date(endMs).toISOString() };
}
