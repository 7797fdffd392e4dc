/** What the scheduler would request next of a series. */

import type { EpochMs } from '../model/intervals.ts';
import type { Window } from '../model/windows.ts';
import { partsOfSource } from '../planning/source-share.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { ClaimedWindow } from '../queue/requests.ts';
import { seriesPlanner } from '../scheduler/series-plan.ts';
import { seriesWithGaps } from '../store/series/gaps.ts';
import { readAllSources, type SourceName } from '../store/series/sources.ts';
import { readRereadSettings } from '../store/settings/settings.ts';
import type { OperationContext } from './context.ts';

/** Enough for the oldest gap that a source gives, where others give the gaps before it. */
const rangesPerSeries = 10_000;

export interface NextWindows {
  /** Null: the default one. */
  readonly source: SourceName;
  /** What is queued or running, oldest first. */
  readonly claimed: readonly ClaimedWindow[];
  /** The first window of the planner if nothing is queued. */
  readonly next: (nowMs: EpochMs) => Promise<Window | undefined>;
}

/** For each source of the series. */
export async function nextWindows(
  context: Pick<OperationContext, 'config' | 'database' | 'sources'>,
  queues: QueueBackend,
  seriesId: number,
): Promise<NextWindows[]> {
  const { config, database } = context;
  const configured = await context.sources();
  const { periods: rereadPeriods } = await readRereadSettings(database, config.reread);
  const found: NextWindows[] = [];
  for (const source of await readAllSources(database, [seriesId])) {
    const settings = source === null ? undefined : configured.get(source);
    // The scheduler asks no source that is not configured.
    if (source !== null && settings === undefined) continue;
    const claimed = (await queues.requestsOf(source).claimedWindows()).windows.get(seriesId) ?? [];
    const parts = {
      database,
      graceMs: config.worker.graceMs,
      openRefreshMs: config.scheduler.refreshMs,
      seriesIds: [seriesId],
      rereadPeriods,
      rangeLimits: config.source.rangeLimits,
      pausedForMs: (name: string) => queues.requestsOf(name).pausedForMs(),
      ...(source === null || settings === undefined ? {} : partsOfSource(source, settings, configured)),
    };
    found.push({
      source,
      claimed: [...claimed].sort((one, other) => one.startMs - other.startMs),
      async next(nowMs) {
        const planner = await seriesPlanner(parts, nowMs);
        const series = await seriesWithGaps(database, { ...parts, source, nowMs, rangesPerSeries });
        const slots = { total: 1, refresh: 1 };
        return planner.windowsOf(series, { claimed: new Map(), slots, cursor: 0 }).windows[0];
      },
    });
  }
  return found;
}
