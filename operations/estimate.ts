/** Estimates the cost of a plan beside what is stored, tracked and polled already. */

import { type EpochMs, intervalMs, nextPeriodStart, periodStart } from '../contract/intervals.ts';
import { pageSize, requestsPerMinute } from '../contract/limits.ts';
import { type SeriesKey, seriesName } from '../contract/series.ts';
import type { Limit } from '../contract/sources.ts';
import { budgetInForce } from '../planning/budget.ts';
import {
  type Cost,
  type Disk,
  diskFor,
  type Estimate,
  estimate,
  hourlyShareOf,
  type PlannedSeries,
} from '../planning/estimate.ts';
import { closedUpTo } from '../planning/periods.ts';
import type { RereadSettings } from '../planning/reread.ts';
import { requestsFor } from '../planning/windows.ts';
import { listStatus, ratesEveryMs } from '../store/lists/lists.ts';
import { bytesPerPoint } from '../store/measures/measures.ts';
import { readMissingRanges } from '../store/series/ranges.ts';
import { readNamedSeries } from '../store/series/sources.ts';
import { readRereadSettings } from '../store/settings/settings.ts';
import { type OperationContext, readRangeLimits } from './context.ts';
import type { ConfiguredSource } from './sources/configured.ts';

export interface PlannedRange {
  readonly series: SeriesKey;
  /** A null end: open-ended. */
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
}

export interface PlanCost extends Estimate {
  readonly disk: Readonly<Record<Cost['dataset'], Disk>>;
  readonly requestsPerMinute: number;
  /** Deferred requests: failed windows and second answers. */
  readonly laterRequests: number;
  /** When the last deferred request is due; null: there is none. */
  readonly lastAtMs: EpochMs | null;
  /** Whether a key would raise the budget. */
  readonly isWithoutKey: boolean;
  /** The part of each source beside the default one. */
  readonly sources: readonly SourceCost[];
}

export interface SourceCost {
  readonly source: string;
  readonly series: number;
  readonly requests: number;
  /** In the unit of the source's limits. */
  readonly cost: number;
  readonly unit: Limit['unit'];
  readonly requestsPerMinute: number;
  /** Null: no limit. */
  readonly durationMs: number | null;
  /** Newest periods that it keeps; null: all. */
  readonly depthPeriods: number | null;
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
  sources: ReadonlyMap<string, string> = new Map(),
): Promise<PlanCost> {
  const { config, database } = context;
  const { graceMs } = config.worker;
  const ranges = wanted.map(({ series, tracked }) => {
    const { interval } = series;
    const closedMs = closedUpTo(series, nowMs, graceMs);
    const startMs = periodStart(tracked.startMs, interval);
    const isFollowed = tracked.endMs === null;
    const endMs = tracked.endMs === null ? closedMs : nextPeriodStart(tracked.endMs, interval);
    return { series, startMs, endMs: Math.min(closedMs, endMs), isFollowed };
  });
  const isEmpty = ({ startMs, endMs }: (typeof ranges)[number]) => startMs >= endMs;
  const begun = ranges.filter((range) => !isEmpty(range));
  const planned: PlannedSeries[] = ranges.filter(isEmpty).map(withoutGaps);
  const found = await readMissingRanges(database, begun, nowMs);
  for (const [place, { series, missing, points, coveredMs }] of found.entries()) {
    const periods = coveredMs / intervalMs[series.interval];
    // A few periods are no basis for years.
    const density = periods < fewPeriods ? null : Math.min(1, points / periods);
    planned.push({ series, missing, density, isFollowed: begun[place]?.isFollowed === true });
  }
  const others = beside.map(({ series, tracked }) =>
    withoutGaps({ series, isFollowed: tracked.endMs === null }),
  );
  const perMinute = await readBudget(context);
  const { source, scheduler } = config;
  const longestRangeMs = await readRangeLimits(context, 'history', sources);
  const rules = {
    longestRangeMs,
    requestsPerMinute: perMinute,
    backfillShare: scheduler.backfillShare,
    refreshMs: scheduler.refreshMs,
    reread: pending?.reread ?? (await readRereadSettings(database, config.reread)),
    pollsEveryMs:
      pending?.pollsEveryMs ??
      pollsEveryMs(await ratesEveryMs(database, scheduler.ratesMs), await listStatus(database, nowMs)),
  };
  const bySource = await groupBySource(context, [...planned, ...others], sources);
  const parts = [...bySource].map(([source, series]) => ({
    source,
    series,
    estimated: estimate(series, source === null ? rules : { ...rules, ...source, pollsEveryMs: [] }),
  }));
  const estimated = inAll(parts.map((part) => part.estimated));
  // How fresh the series stay is said of the source with most of them; the budget is its.
  const [largest] = [...parts].sort((a, b) => b.series.length - a.series.length);
  const each = await bytesPerPoint(database);
  const costs = estimated.costs.map((cost) => ({
    ...cost,
    series: planned.filter(({ series }) => series.dataset === cost.dataset).length,
  }));
  const { columnstoreAfterDays: afterDays, chunkDays } = config.storage;
  const disk = (dataset: Cost['dataset']) =>
    diskFor(
      planned.filter(({ series }) => series.dataset === dataset),
      {
        bytes: each[dataset],
        rowDays: afterDays === 0 ? Number.POSITIVE_INFINITY : afterDays + chunkDays[dataset],
        nowMs,
        hourlyShare: hourlyShareOf(estimated.durationMs),
      },
    );
  return {
    ...estimated,
    costs: costs.filter((cost) => cost.series > 0),
    disk: { candles: disk('candles'), asset_history: disk('asset_history') },
    freshness: largest?.estimated.freshness ?? estimated.freshness,
    requestsPerMinute: largest?.source?.requestsPerMinute ?? perMinute,
    sources: parts.flatMap(({ source, series, estimated }) =>
      source === null ? [] : [sourceCost(source, series.length, estimated)],
    ),
    laterRequests: found.reduce(
      (sum, { series, later }) =>
        later.reduce((of, range) => of + requestsFor(range, longestRangeMs(series)), sum),
      0,
    ),
    lastAtMs: found.reduce<EpochMs | null>(
      (last, { lastAtMs }) => (lastAtMs === null ? last : Math.max(last ?? lastAtMs, lastAtMs)),
      null,
    ),
    isWithoutKey: source.apiKey === undefined && perMinute === requestsPerMinute.withoutKey,
  };
}

/** The series of each source; null: the default one, which is there even without any. */
async function groupBySource(
  context: OperationContext,
  planned: readonly PlannedSeries[],
  pending: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<ConfiguredSource | null, readonly PlannedSeries[]>> {
  const named = new Map([...(await readNamedSeries(context.database)), ...pending]);
  const groups = new Map<ConfiguredSource | null, PlannedSeries[]>([[null, []]]);
  const configured = named.size === 0 ? new Map<string, ConfiguredSource>() : await context.sources();
  for (const entry of planned) {
    const source = configured.get(named.get(seriesName(entry.series)) ?? '') ?? null;
    groups.set(source, [...(groups.get(source) ?? []), entry]);
  }
  return groups;
}

/** The sources work at the same time: the longest duration counts. */
function inAll(estimates: readonly Estimate[]): Estimate {
  const [first, ...others] = estimates;
  if (first === undefined) throw new Error('there is always the default source');
  return others.reduce(
    (sum, one) => ({
      costs: (['candles', 'asset_history'] as const).flatMap((dataset) => {
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
      durationMs:
        sum.durationMs === null || one.durationMs === null
          ? (sum.durationMs ?? one.durationMs)
          : Math.max(sum.durationMs, one.durationMs),
      freshness: sum.freshness,
    }),
    first,
  );
}

function sourceCost(
  source: ConfiguredSource,
  series: number,
  { requests, durationMs }: Estimate,
): SourceCost {
  const { name, profile, requestsPerMinute, depthPeriods } = source;
  const cost = (profile.resources.candles ?? profile.resources.assetHistory)?.cost ?? 1;
  const unit = profile.limits(source.apiKey !== undefined)[0]?.unit ?? 'request';
  return {
    source: name,
    series,
    requests,
    cost: requests * cost,
    unit,
    requestsPerMinute,
    durationMs,
    depthPeriods,
  };
}

/**
 * Times between two requests: of the rates, and of each list, which is requested once per page of its newest poll.
 *
 * @param ratesMs 0: rates are not polled. @param lists with the rows of the newest poll; null: there is none.
 */
export function pollsEveryMs(
  ratesMs: number,
  lists: ReadonlyArray<{ readonly everyMs: number; readonly rows: number | null }>,
): number[] {
  const pages = (rows: number | null) => Math.max(1, Math.ceil((rows ?? 0) / pageSize.maximum));
  return [...(ratesMs === 0 ? [] : [ratesMs]), ...lists.map(({ everyMs, rows }) => everyMs / pages(rows))];
}

const fewPeriods = 1000;

function withoutGaps({ series, isFollowed }: Pick<PlannedSeries, 'series' | 'isFollowed'>): PlannedSeries {
  return { series, isFollowed, missing: [], density: null };
}

/**
 * Requests per minute, 0: no limit. Without a configured number or key it is the budget of the connected workers, and the
 * default while the queue is unreachable.
 */
export async function readBudget({ config, openQueues }: OperationContext): Promise<number> {
  if (config.source.isBudgetStated) return config.source.requestsPerMinute;
  const queues = await openQueues().catch(() => null);
  if (queues === null) return config.source.requestsPerMinute;
  try {
    return budgetInForce(config.source, await queues.connectedBudgets());
  } catch {
    return config.source.requestsPerMinute;
  } finally {
    await queues.close();
  }
}
