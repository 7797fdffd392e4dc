/** What a plan will cost, as `plan` and `--dry-run` show it. */

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
import { table } from './table.ts';
import { bytes, count, counted, duration, moment } from './wording.ts';

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

const names: Readonly<Record<Cost['dataset'], string>> = { candles: 'candles', asset_history: 'history' };

export function costText(cost: PlanCost): string {
  const lines = cost.costs.map((line) => ({
    ...{ name: names[line.dataset], series: line.series, missingMs: line.missingMs },
    ...{ requests: line.requests, points: line.points, disk: cost.disk[line.dataset].bytes },
  }));
  const all = {
    name: 'in all',
    series: lines.reduce((sum, line) => sum + line.series, 0),
    missingMs: lines.reduce((sum, line) => sum + line.missingMs, 0),
    requests: cost.requests,
    points: cost.points,
    disk: inAll(cost, 'bytes'),
  };
  if (all.series === 0) return 'no series is tracked: see `tidemark track --help`';
  const rows = lines.length > 1 ? [...lines, all] : lines;
  return [
    table(
      [
        { title: '', value: (row) => row.name },
        { title: 'series', value: (row) => count(row.series), right: true },
        {
          title: 'missing',
          value: (row) => (row.missingMs === 0 ? '-' : duration(row.missingMs)),
          right: true,
        },
        { title: 'requests', value: (row) => count(row.requests), right: true },
        { title: 'points, at most', value: (row) => count(row.points), right: true },
        { title: 'disk', value: (row) => bytes(row.disk), right: true },
      ],
      rows,
    ),
    '',
    backfillLine(cost),
    ...laterLines(cost),
    ...peakLines(cost),
    ...freshLines(cost),
  ].join('\n');
}

function backfillLine({ requests, durationMs, requestsPerMinute }: PlanCost): string {
  if (requests === 0) return 'nothing is missing';
  const time =
    durationMs === null ? 'the source has no limit' : `about ${duration(Math.max(1000, durationMs))}`;
  const budget =
    requestsPerMinute === 0 ? '' : ` at ${count(requestsPerMinute)} a minute, beside what follows`;
  return `what is missing takes ${counted(requests, 'request')}: ${time}${budget}`;
}

function laterLines({ laterRequests, lastAtMs }: PlanCost): string[] {
  if (lastAtMs === null) return [];
  return [
    `of them ${count(laterRequests)} not at once, as they failed or await a second answer: the last ${moment(lastAtMs)}`,
  ];
}

/** Below this it is no news. */
const notablePeak = 1.1;

function peakLines(cost: PlanCost): string[] {
  const peakBytes = inAll(cost, 'peakBytes');
  if (peakBytes < notablePeak * inAll(cost, 'bytes')) return [];
  return [
    `on disk it is up to ${bytes(peakBytes)} before the columnstore's policy, which runs every hour, comes by`,
  ];
}

function inAll({ disk }: PlanCost, what: keyof Disk): number {
  return disk.candles[what] + disk.asset_history[what];
}

function freshLines(cost: PlanCost): string[] {
  const { freshness, requestsPerMinute } = cost;
  const { refreshPerMinute, rereadPerMinute, pollPerMinute, wantedEveryMs, everyMs } = freshness;
  const rate = (perMinute: number) => perMinute.toFixed(perMinute < 10 ? 2 : 0);
  const parts = [
    `${rate(refreshPerMinute)} for new periods`,
    `${rate(rereadPerMinute)} to read recent days again`,
    `${rate(pollPerMinute)} for polls`,
  ];
  const needed = refreshPerMinute + rereadPerMinute + pollPerMinute;
  const share =
    requestsPerMinute === 0 ? '' : `, ${((100 * needed) / requestsPerMinute).toFixed(1)} % of the budget`;
  const lines = [`staying fresh takes ${rate(needed)} requests a minute${share}: ${parts.join(', ')}`];
  if (wantedEveryMs === null || requestsPerMinute === 0) return lines;
  if (everyMs === null || everyMs > wantedEveryMs) return [...lines, staleWarning(cost)];
  if (freshness.everyMsInBackfill !== null && freshness.everyMsInBackfill <= wantedEveryMs) return lines;
  return [
    ...lines,
    `while anything is missing the newest data comes ${freshness.everyMsInBackfill === null ? 'last' : `every ${duration(freshness.everyMsInBackfill)}`}, as backfill keeps its share`,
  ];
}

/** What happens when the budget does not do, and what would. */
function staleWarning({ freshness, isWithoutKey }: PlanCost): string {
  const { wantedEveryMs, everyMs, everyMsInBackfill, neededPerMinute, mostThatFit } = freshness;
  const wanted = duration(wantedEveryMs ?? 0);
  const stale =
    everyMs === null
      ? 'and will not be read at all'
      : `and will be read every ${duration(everyMs)}` +
        (everyMsInBackfill === null
          ? ''
          : `, or every ${duration(everyMsInBackfill)} while anything is missing`);
  const key = isWithoutKey ? ` (with a key the source allows ${requestsPerMinute.withKey})` : '';
  return (
    `warning: the budget cannot keep this fresh. What is to be read every ${wanted} shares what there is, ${stale}. ` +
    `${count(neededPerMinute)} requests a minute would do${key}; so would at most ${count(mostThatFit)} series ` +
    `at that interval, or a longer interval for the rest.`
  );
}

export function costJson(cost: PlanCost) {
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1000);
  const { freshness } = cost;
  return {
    requests: cost.requests,
    points: cost.points,
    diskBytes: Math.round(inAll(cost, 'bytes')),
    peakDiskBytes: Math.round(inAll(cost, 'peakBytes')),
    seconds: seconds(cost.durationMs),
    laterRequests: cost.laterRequests,
    laterUntil: cost.lastAtMs === null ? null : new Date(cost.lastAtMs).toISOString(),
    requestsPerMinute: cost.requestsPerMinute,
    datasets: cost.costs.map((line) => ({
      dataset: line.dataset,
      series: line.series,
      missingSeconds: line.missingMs / 1000,
      requests: line.requests,
      points: line.points,
      diskBytes: Math.round(cost.disk[line.dataset].bytes),
    })),
    fresh: {
      refreshPerMinute: freshness.refreshPerMinute,
      rereadPerMinute: freshness.rereadPerMinute,
      pollPerMinute: freshness.pollPerMinute,
      neededPerMinute: freshness.neededPerMinute,
      wantedEverySeconds: seconds(freshness.wantedEveryMs),
      everySeconds: seconds(freshness.everyMs),
      everySecondsInBackfill: seconds(freshness.everyMsInBackfill),
      mostThatFit: freshness.mostThatFit,
    },
  };
}
