/** What the scheduler would request next of a series. */

import type { EpochMs } from '../model/intervals.ts';
import type { Window } from '../model/window.ts';
import { idleLoad, planPass } from '../planning/pass.ts';
import { partsOfSource } from '../planning/source-share.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { type FactsContext, readFacts, readSeries } from '../scheduler/read-facts.ts';
import { readAllSources } from '../store/series/sources.ts';
import { readRereadSettings } from '../store/settings/settings.ts';
import type { OperationContext } from './context.ts';

/** Enough for the oldest gap that a source gives, where others give the gaps before it. */
const rangesPerSeries = 10_000;

/** For each source of the series. */
export async function nextWindows(
  context: Pick<OperationContext, 'config' | 'database' | 'sources'>,
  queues: QueueBackend,
  seriesId: number,
) {
  const { config, database } = context;
  const configured = await context.sources();
  const rules = {
    graceMs: config.worker.graceMs,
    backfillShare: config.scheduler.backfillShare,
    openRefreshMs: config.scheduler.refreshMs,
    reread: await readRereadSettings(database, config.reread),
  };
  const found = [];
  for (const name of await readAllSources(database, [seriesId])) {
    const facts = configured.find(name)?.facts;
    // The scheduler asks no source that is not configured.
    if (facts === undefined) continue;
    const claimed = (await queues.requestsOf(name).claimedWindows()).windows.get(seriesId) ?? [];
    const source = { name, requestsPerMinute: facts.requestsPerMinute, ...partsOfSource(facts, configured.facts) };
    const pausedForMs = (other: string) => queues.requestsOf(other).pausedForMs();
    found.push({
      source: name,
      /** What is queued or running, oldest first. */
      claimed: [...claimed].sort((one, other) => one.startMs - other.startMs),
      /** The first window of the planner if nothing is queued. */
      next: (nowMs: EpochMs) => planFirst({ database, source, rules, pausedForMs, seriesIds: [seriesId] }, nowMs),
    });
  }
  return found;
}

async function planFirst(context: FactsContext, nowMs: EpochMs): Promise<Window | undefined> {
  const load = idleLoad(context.source.requestsPerMinute, context.rules.backfillShare);
  const facts = await readFacts(context, load, { nowMs, most: 1 });
  const series = await readSeries(context, { nowMs, count: 1, ranges: rangesPerSeries, cursor: 0 });
  return planPass({ ...facts, ...series, duePages: [] }).windows[0];
}
