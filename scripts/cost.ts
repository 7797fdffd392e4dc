/** What a plan will cost, with what is stored, tracked and polled already. */

import { type EpochMs, intervalMs, nextPeriodStart, periodStart } from '../contract/intervals.ts';
import { pageSize, requestsPerMinute } from '../contract/limits.ts';
import type { SeriesKey } from '../contract/series.ts';
import { closedUpTo } from '../planning/closed.ts';
import { type Disk, diskFor, hourlyShareOf } from '../planning/disk.ts';
import { type Cost, type Estimate, estimate, type PlannedSeries } from '../planning/estimate.ts';
import type { RereadSettings } from '../planning/reread.ts';
import { longestRange, requestsFor } from '../planning/windows.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { bytesPerPoint } from '../store/sizes.ts';
import { ratesEveryMs } from '../store/snapshots/lists.ts';
import { listStatus } from '../store/snapshots/status.ts';
import { missingOf } from '../store/wanted.ts';
import { rereadAsSaid } from '../store/watch-list/settings.ts';
import type { Session } from './session.ts';

export interface Wanted {
  readonly series: SeriesKey;
  readonly fromMs: EpochMs;
  /** Null: followed into the future. */
  readonly toMs: EpochMs | null;
}

export interface PlanCost extends Estimate {
  readonly disk: Readonly<Record<Cost['dataset'], Disk>>;
  readonly requestsPerMinute: number;
  /** Of the requests, those that wait for their time: what failed, and second answers. */
  readonly laterRequests: number;
  /** When the last of them may be made; null: there are none. */
  readonly lastAtMs: EpochMs | null;
  /** Whether a key would raise the budget. */
  readonly isWithoutKey: boolean;
}

/** What a watch list is about to change, and so is not yet in the database. */
export interface AboutToBe {
  readonly reread: RereadSettings;
  /** Time between two requests of each list that will be polled. */
  readonly pollsEveryMs: readonly number[];
}

/**
 * @param wanted what is to be fetched. @param beside what is followed as well, and shares the budget.
 */
export async function costOf(
  session: Session,
  wanted: readonly Wanted[],
  beside: readonly Wanted[],
  nowMs: EpochMs,
  aboutToBe?: AboutToBe,
): Promise<PlanCost> {
  const { config, database } = session;
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
  const found = await missingOf(database, begun, nowMs);
  for (const [place, { series, missing, points, coveredMs }] of found.entries()) {
    const periods = coveredMs / intervalMs[series.interval];
    // What few periods hold says little of years.
    const density = periods < fewPeriods ? null : Math.min(1, points / periods);
    planned.push({ series, missing, density, isFollowed: begun[place]?.isFollowed === true });
  }
  const others = beside.map(({ series, toMs }) => withoutGaps({ series, isFollowed: toMs === null }));
  const accepted = await longestRanges(database);
  const { source, scheduler } = config;
  const longestRangeMs = (series: SeriesKey) => longestRange(series, source.rangeLimits, accepted);
  const estimated = estimate([...planned, ...others], {
    longestRangeMs,
    requestsPerMinute: source.requestsPerMinute,
    backfillShare: scheduler.backfillShare,
    refreshMs: scheduler.refreshMs,
    reread: aboutToBe?.reread ?? (await rereadAsSaid(database, config.reread)),
    pollsEveryMs: aboutToBe?.pollsEveryMs ?? (await pollsEveryMs(session, nowMs)),
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
    requestsPerMinute: source.requestsPerMinute,
    laterRequests: found.reduce(
      (sum, { series, later }) =>
        later.reduce((of, range) => of + requestsFor(range, longestRangeMs(series)), sum),
      0,
    ),
    lastAtMs: found.reduce<EpochMs | null>(
      (last, { lastAtMs }) => (lastAtMs === null ? last : Math.max(last ?? lastAtMs, lastAtMs)),
      null,
    ),
    isWithoutKey: source.apiKey === undefined && source.requestsPerMinute === requestsPerMinute.withoutKey,
  };
}

/** Of the rates, and of each list once for every page that its newest poll had. */
async function pollsEveryMs({ config, database }: Session, nowMs: EpochMs): Promise<number[]> {
  const ratesMs = await ratesEveryMs(database, config.scheduler.ratesMs);
  const lists = await listStatus(database, nowMs);
  return [
    ...(ratesMs === 0 ? [] : [ratesMs]),
    ...lists.map(({ everyMs, rows }) => pageEveryMs(everyMs, rows)),
  ];
}

/** Time between two requests for a list's pages. @param rows of its newest poll; null: there is none. */
export function pageEveryMs(everyMs: number, rows: number | null): number {
  return everyMs / Math.max(1, Math.ceil((rows ?? 0) / pageSize.maximum));
}

const fewPeriods = 1000;

function withoutGaps({ series, isFollowed }: Pick<PlannedSeries, 'series' | 'isFollowed'>): PlannedSeries {
  return { series, isFollowed, missing: [], density: null };
}
