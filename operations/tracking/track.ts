/** Tracks a selection, and what that will cost. */

import { seriesName, untilExpiry } from '../../model/series.ts';
import { insertBackfill } from '../../store/ledger/backfills.ts';
import type { TrackedSeries } from '../../store/series/series.ts';
import { trackSeriesOf } from '../../store/series/sources.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { askedOf } from '../backfill/record.ts';
import type { OperationContext } from '../context.ts';
import { estimateCost, type PlanCost } from '../estimate.ts';
import type { KeptSelection, SourcedSelection } from './selection.ts';

/** The series one after the other, each as it is tracked. */
export async function* trackSelection(
  { database }: Pick<OperationContext, 'database'>,
  selection: KeptSelection<SourcedSelection>,
): AsyncGenerator<TrackedSeries> {
  for (const series of selection.series)
    yield await trackSeriesOf(database, selection.sources, series, selection.trackFromMs(series), selection.toMs);
}

/** Tracks them, and records who asked for it where it widens what is tracked. */
export async function trackRecorded(
  context: Pick<OperationContext, 'clock' | 'config' | 'database'>,
  selection: KeptSelection<SourcedSelection>,
  by: string,
): Promise<readonly TrackedSeries[]> {
  const { clock, config, database } = context;
  const all: TrackedSeries[] = [];
  for await (const tracked of trackSelection(context, selection)) all.push(tracked);
  const nowMs = clock.now();
  const at = { nowMs, graceMs: config.worker.graceMs };
  const asked = all
    .filter(({ change }) => change !== 'unchanged')
    .map((one) => askedOf(one, { fromMs: selection.trackFromMs(one.series), toMs: selection.toMs }, at));
  if (asked.length > 0)
    await insertBackfill(database.pool, { kind: 'track', by, series: asked }, { nowMs, isAlive: false });
  return all;
}

/** Estimates the cost beside all tracked series, which share the budget. */
export async function estimateSelection(
  context: OperationContext,
  selection: KeptSelection<SourcedSelection>,
): Promise<PlanCost> {
  const nowMs = context.clock.now();
  const wanted = selection.series.map((series) => ({
    series,
    tracked: { startMs: selection.trackFromMs(series), endMs: untilExpiry(series, selection.toMs) },
  }));
  const names = new Set(selection.series.map(seriesName));
  const { graceMs } = context.config.worker;
  const tracked = await seriesStatus(context.database, { nowMs, graceMs });
  const beside = tracked.filter(({ series }) => !names.has(seriesName(series)));
  const { sources: chosen } = selection;
  const sources = new Map(chosen === null ? [] : selection.series.map((series) => [seriesName(series), chosen]));
  return estimateCost(context, wanted, beside, nowMs, undefined, sources);
}
