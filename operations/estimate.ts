/** Estimates the cost of a plan beside what is stored, tracked and polled already. */

import { type EpochMs, intervalMs, nextPeriodStart, periodStart } from '../contract/intervals.ts';
import { pageSize, requestsPerMinute } from '../contract/limits.ts';
import type { SeriesKey } from '../contract/series.ts';
import { budgetInForce } from '../planning/budget.ts';
import { type Disk, diskFor, hourlyShareOf } from '../planning/disk.ts';
import { type Cost, type Estimate, estimate, type PlannedSeries } from '../planning/estimate.ts';
import { closedUpTo } from '../planning/periods.ts';
import type { RereadSettings } from '../planning/reread.ts';
import { requestsFor } from '../planning/windows.ts';
import { listStatus, ratesEveryMs } from '../store/lists/lists.ts';
import { bytesPerPoint } from '../store/measures/sizes.ts';
import { readMissingRanges } from '../store/series/ranges.ts';
import { readRereadSettings } from '../store/settings/settings.ts';
import { type OperationContext, readRangeLimits } from './context.ts';

export interface PlannedRange {
  readonly series: SeriesKey;
  readonly fromMs: EpochMs;
  /** Null: open-ended. */
  readonly toMs: EpochMs | null;
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
}

/** Changes of a watch list that are not applied yet. */
export interface PendingChanges {
  readonly reread: RereadSettings;
  /** Time between two requests per polled list. */
  readonly pollsEveryMs: readonly number[];
}

/** @param wanted ranges to fetch. @param beside other followed ranges that share the budget. */
export async function estimateCost(
  context: OperationContext,
  wanted: readonly PlannedRange[],
  beside: readonly PlannedRange[],
  nowMs: EpochMs,
  aboutToBe?: PendingChanges,
): Promise<PlanCost> {
  const { config, database } = context;
  const { graceMs } = config.worker;
  const ranges = wanted.map(({ series, fromMs, toMs }) => {
    const closedMs = closedUpTo(series, nowMs, graceMs);
    const startMs = periodStart(fromMs, series.interval);
    const endMs = Math.min(closedMs, toMs === null ? closedMs : nextPeriodStart(toMs, series.interval));
    return { series, startMs, endMs, isFollowed: toMs === null };
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
  const others = beside.map(({ series, toMs }) => withoutGaps({ series, isFollowed: toMs === null }));
  const perMinute = await readBudget(context);
  const { source, scheduler } = config;
  const longestRangeMs = await readRangeLimits(context);
  const estimated = estimate([...planned, ...others], {
    longestRangeMs,
    requestsPerMinute: perMinute,
    backfillShare: scheduler.backfillShare,
    refreshMs: scheduler.refreshMs,
    reread: aboutToBe?.reread ?? (await readRereadSettings(database, config.reread)),
    pollsEveryMs: aboutToBe?.pollsEveryMs ?? (await pollsEveryMs(context, nowMs)),
  });
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
    requestsPerMinute: perMinute,
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

/** The rates, and each list once per page of its newest poll. */
async function pollsEveryMs({ config, database }: OperationContext, nowMs: EpochMs): Promise<number[]> {
  const ratesMs = await ratesEveryMs(database, config.scheduler.ratesMs);
  const lists = await listStatus(database, nowMs);
  return [
    ...(ratesMs === 0 ? [] : [ratesMs]),
    ...lists.map(({ everyMs, rows }) => pageEveryMs(everyMs, rows)),
  ];
}

/** Time between two page requests of a list. @param rows of its newest poll; null: there is none. */
export function pageEveryMs(everyMs: number, rows: number | null): number {
  return everyMs / Math.max(1, Math.ceil((rows ?? 0) / pageSize.maximum));
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
