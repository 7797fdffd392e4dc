/** Estimates the cost of a plan beside what is stored, tracked and polled already. */

import { byDataset, datasetNames, datasetOf, datasets } from '../model/datasets/index.ts';
import { type EpochMs, intervalMs, nextPeriodStart, periodStart } from '../model/intervals.ts';
import { subtract } from '../model/ranges.ts';
import { type SeriesKey, seriesName } from '../model/series.ts';
import { defaultSource } from '../model/sources.ts';
import { budgetInForce, type LoweredBudget, lowerBudget } from '../planning/budget.ts';
import { type Cost, type Disk, diskFor, type Estimate, type Freshness, hourlyShareOf } from '../planning/estimate.ts';
import { closedUpTo } from '../planning/periods.ts';
import { rowsAskedFor } from '../planning/polls.ts';
import type { RereadSettings } from '../planning/reread.ts';
import { readMissingRanges } from '../store/series/ranges.ts';
import { type ListState, readListStates } from '../store/settings/polled-lists.ts';
import { readRereadSettings } from '../store/settings/settings.ts';
import { readLoweredBudget, readLoweredBudgets } from '../store/settings/source-orders.ts';
import { bytesPerPoint } from '../store/status/measures.ts';
import { chunkDaysOf } from '../store/timescale/hypertables.ts';
import { requestsPerMinute } from '../v2/limits.ts';
import type { OperationContext } from './context.ts';
import { costOfPart, dividePlan, type SourceCost, type WantedSeries } from './source-cost.ts';
import { readGapDivision, type SourceLists } from './source-gaps.ts';

export interface PlannedRange {
  readonly series: SeriesKey;
  /** A null end: open-ended. */
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
}

export interface PlanCost extends Estimate {
  readonly disk: Readonly<Record<Cost['dataset'], Disk>>;
  /** Of the source with most series. */
  readonly requestsPerMinute: number;
  /** Whether more than one source is asked. */
  readonly isShared: boolean;
  /** Deferred requests: failed windows and second answers. */
  readonly laterRequests: number;
  /** When the last deferred request is due; null: there is none. */
  readonly lastAtMs: EpochMs | null;
  /** Series of events that are counted as if they were as rare as they can be, since too little of them is stored. */
  readonly assumed: readonly SeriesKey[];
  /** The budgets with which it counts that a user lowered, each with its source. */
  readonly lowered: ReadonlyArray<readonly [source: string, budget: LoweredBudget]>;
  /** Whether a key would raise the budget. */
  readonly isWithoutKey: boolean;
  /** The part of each source. */
  readonly sources: readonly SourceCost[];
}

/**
 * @param wanted ranges to fetch. @param beside other followed ranges that share the budget.
 * @param pending changes of a watch list that are not applied yet, with the times between two requests of polls.
 * @param sources of wanted series that are not tracked yet, by their names.
 */
export async function estimateCost(
  context: OperationContext,
  wanted: readonly PlannedRange[],
  beside: readonly PlannedRange[],
  nowMs: EpochMs,
  pending?: { readonly reread: RereadSettings; readonly pollsEveryMs: readonly number[] },
  sources: SourceLists = new Map(),
): Promise<PlanCost> {
  const { config, database } = context;
  const { graceMs } = config.worker;
  const ranges = wanted.map(({ series, tracked }) => {
    const { interval } = series;
    const closedMs = closedUpTo(series, nowMs, graceMs);
    const startMs = periodStart(tracked.startMs, interval);
    const isFollowed = tracked.endMs === null;
    const endMs = tracked.endMs === null ? closedMs : nextPeriodStart(tracked.endMs, interval);
    const reachesNow = tracked.endMs === null || tracked.endMs > nowMs;
    return { series, startMs, endMs: Math.min(closedMs, endMs), isFollowed, reachesNow };
  });
  const isEmpty = ({ startMs, endMs }: (typeof ranges)[number]) => startMs >= endMs;
  const begun = ranges.filter((range) => !isEmpty(range));
  const planned: WantedSeries[] = ranges.filter(isEmpty).map(withoutGaps);
  const found = await readMissingRanges(database, begun, nowMs);
  for (const [place, { series, missing, points, coveredMs }] of found.entries()) {
    const periods = coveredMs / intervalMs[series.interval];
    // A few periods are no basis for years.
    const density = periods < fewPeriods ? null : Math.min(1, points / periods);
    const { isFollowed, reachesNow } = begun[place] ?? { isFollowed: false, reachesNow: false };
    planned.push({ series, missing, density, isFollowed, reachesNow });
  }
  const others = beside.map(({ series, tracked }) =>
    withoutGaps({ series, isFollowed: tracked.endMs === null, reachesNow: tracked.endMs === null }),
  );
  const { scheduler } = config;
  const division = await readGapDivision(context, nowMs, sources);
  const rules = {
    backfillShare: scheduler.backfillShare,
    refreshMs: scheduler.refreshMs,
    reread: pending?.reread ?? (await readRereadSettings(database, config.reread)),
  };
  const polls = pending?.pollsEveryMs ?? pollsEveryMs(await readListStates(database.pool));
  const { parts, lost } = dividePlan(division, planned, others);
  const costs: SourceCost[] = [];
  for (const part of parts) {
    const { setup, longestRangeMs } = part.source;
    const { name } = setup.facts;
    const isPolled = name === defaultSource && (setup.url !== null || part.planned.length > 0);
    const requestsPerMinute = await readBudget(context, name);
    const rulesOfPart = { ...rules, longestRangeMs, requestsPerMinute, pollsEveryMs: isPolled ? polls : [] };
    costs.push(await costOfPart(context, part, rulesOfPart, nowMs));
  }
  const used = parts.filter(({ planned }) => planned.length > 0);
  const estimated = inAll(costs);
  const [largest] = [...parts].sort((a, b) => b.planned.length - a.planned.length);
  const perMinuteOf = (name: string | undefined) => costs.find(({ source }) => source === name)?.requestsPerMinute ?? 0;
  const { apiKey } = division.ofDefault.setup;
  const kept = planned.map((entry) => ({
    ...entry,
    missing: subtract(entry.missing, lost.get(seriesName(entry.series)) ?? []),
  }));
  const each = await bytesPerPoint(database);
  const counted = estimated.costs.map((cost) => ({
    ...cost,
    series: planned.filter(({ series }) => series.dataset === cost.dataset).length,
  }));
  const { columnstoreAfterDays: afterDays } = config.storage;
  const disk = (dataset: Cost['dataset']) =>
    diskFor(
      kept.filter(({ series }) => series.dataset === dataset),
      {
        bytes: each[dataset],
        rowDays: afterDays === 0 ? Number.POSITIVE_INFINITY : afterDays + chunkDaysOf(datasets[dataset].table),
        nowMs,
        hourlyShare: hourlyShareOf(estimated.durationMs),
      },
    );
  return {
    ...estimated,
    costs: counted.filter((cost) => cost.series > 0),
    disk: byDataset((_, dataset) => disk(dataset)),
    requestsPerMinute: perMinuteOf(largest?.source.name),
    isShared: used.length > 1,
    sources: costs.filter(({ series }) => series > 0),
    lowered: await Promise.all(
      [...(await readLoweredBudgets(database))]
        .filter(([name, { perMinute }]) =>
          costs.some(
            ({ source, series, requestsPerMinute }) => source === name && series > 0 && requestsPerMinute === perMinute,
          ),
        )
        .map(
          async ([name, budget]) => [name, { ...budget, ownPerMinute: await readOwnBudget(context, name) }] as const,
        ),
    ),
    assumed: planned.flatMap(({ series, density }) =>
      density === null && datasetOf(series.dataset).time.density === 'linked' ? [series] : [],
    ),
    ...laterRequests(division, found),
    isWithoutKey: apiKey === undefined && perMinuteOf(defaultSource) === requestsPerMinute.withoutKey,
  };
}

/** The deferred requests, without those for what no source is asked for. */
function laterRequests(
  division: Parameters<typeof dividePlan>[0],
  found: Awaited<ReturnType<typeof readMissingRanges>>,
): Pick<PlanCost, 'laterRequests' | 'lastAtMs'> {
  const deferred = found
    .filter(({ later }) => later.length > 0)
    .map(({ series, later, lastAtMs }) => ({
      ...withoutGaps({ series, isFollowed: false, reachesNow: false }),
      missing: later,
      lastAtMs,
    }));
  const { parts, lost } = dividePlan(division, deferred, []);
  const requests = parts.flatMap(({ planned }) => planned).reduce((sum, one) => sum + one.requests, 0);
  const times = deferred.flatMap(({ series, missing, lastAtMs }) =>
    lastAtMs === null || subtract(missing, lost.get(seriesName(series)) ?? []).length === 0 ? [] : [lastAtMs],
  );
  return { laterRequests: requests, lastAtMs: times.length === 0 ? null : Math.max(...times) };
}

/** The sources work at the same time: the longest duration counts. */
function inAll(estimates: readonly Estimate[]): Estimate {
  const [first, ...others] = estimates;
  if (first === undefined) throw new Error('there is always the default source');
  return others.reduce(
    (sum, one) => ({
      costs: datasetNames.flatMap((dataset) => {
        const of = [...sum.costs, ...one.costs].filter((cost) => cost.dataset === dataset);
        const add = (field: 'series' | 'missingMs' | 'requests' | 'points') =>
          of.reduce((total, cost) => total + cost[field], 0);
        if (of.length === 0) return [];
        return [
          {
            dataset,
            series: add('series'),
            missingMs: add('missingMs'),
            requests: add('requests'),
            points: add('points'),
          },
        ];
      }),
      requests: sum.requests + one.requests,
      points: sum.points + one.points,
      durationMs: longest([sum, one]),
      freshness: together(sum.freshness, one.freshness),
    }),
    first,
  );
}

/** Null: one that is asked for something has no limit, and so no time that follows from it. */
function longest(estimates: readonly Estimate[]): number | null {
  const durations = estimates.filter(({ requests }) => requests > 0).map(({ durationMs }) => durationMs);
  return durations.reduce((a, b) => (a === null || b === null ? null : Math.max(a, b)), 0);
}

/** Rates of both, and the refresh of the source that is later with it. */
function together(a: Freshness, b: Freshness): Freshness {
  if (a.wantedEveryMs === null && a.neededPerMinute === 0) return b;
  if (b.wantedEveryMs === null && b.neededPerMinute === 0) return a;
  const lateness = ({ wantedEveryMs, everyMs, everyMsInBackfill }: Freshness) =>
    wantedEveryMs === null ? 0 : ((everyMs ?? Infinity) + (everyMsInBackfill ?? Infinity)) / wantedEveryMs;
  const later = lateness(a) >= lateness(b) ? a : b;
  return {
    ...later,
    refreshPerMinute: a.refreshPerMinute + b.refreshPerMinute,
    rereadPerMinute: a.rereadPerMinute + b.rereadPerMinute,
    pollPerMinute: a.pollPerMinute + b.pollPerMinute,
    neededPerMinute: a.neededPerMinute + b.neededPerMinute,
    maxThatFit: a.maxThatFit + b.maxThatFit,
  };
}

/** Times between two requests of each tracked list, which is requested once per page of its newest poll. */
export function pollsEveryMs(states: readonly ListState[]): number[] {
  const pages = ({ list, rows }: ListState) => Math.max(1, Math.ceil((rows ?? 0) / (rowsAskedFor(list) ?? Infinity)));
  return states.filter(({ isTracked }) => isTracked).map((state) => state.everyMs / pages(state));
}

const fewPeriods = 1000;

function withoutGaps({
  series,
  isFollowed,
  reachesNow,
}: Pick<WantedSeries, 'series' | 'isFollowed' | 'reachesNow'>): WantedSeries {
  return { series, isFollowed, reachesNow, missing: [], density: null };
}

/** Requests a minute to a source with the user's own figure; 0: no limit. */
export async function readBudget(
  context: Pick<OperationContext, 'database' | 'sources' | 'openQueues'>,
  source: string,
): Promise<number> {
  return lowerBudget(await readOwnBudget(context, source), await readLoweredBudget(context.database, source));
}

/**
 * Requests per minute to a source, 0: no limit. If no budget is stated, it is that of the connected workers, and the
 * default while the queue is unreachable.
 */
export async function readOwnBudget(
  { sources, openQueues }: Pick<OperationContext, 'sources' | 'openQueues'>,
  source: string,
): Promise<number> {
  const { facts } = (await sources()).get(source);
  if (facts.isBudgetStated) return facts.requestsPerMinute;
  const queues = await openQueues().catch(() => null);
  if (queues === null) return facts.requestsPerMinute;
  try {
    return budgetInForce(facts, await queues.connectedBudgets(source));
  } catch {
    return facts.requestsPerMinute;
  } finally {
    await queues.close();
  }
}
