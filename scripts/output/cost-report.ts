/** Formats the cost of a plan for `plan` and `--dry-run`. */

import { datasetNames, datasetOf, datasets } from '../../model/datasets/index.ts';
import {
  aboutText,
  counted,
  formatBytes,
  formatCount,
  formatDuration,
  formatTime,
  isoTime,
} from '../../model/format.ts';
import { intervalMs } from '../../model/intervals.ts';
import { seriesName } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { type CommandCost, commandCostText } from '../../operations/command-cost.ts';
import type { PlanCost } from '../../operations/estimate.ts';
import type { SourceCost } from '../../operations/source-cost.ts';
import { loweredText } from '../../planning/budget.ts';
import { diskInAll, type Freshness } from '../../planning/estimate.ts';
import { requestsPerMinute } from '../../v2/limits.ts';
import type { JsonDocument } from './documents.ts';
import { table } from './table.ts';

export function costText(cost: PlanCost): string {
  const lines = cost.costs.map((line) => ({
    name: datasets[line.dataset].word,
    series: line.series,
    missingMs: line.missingMs,
    requests: line.requests,
    points: line.points,
    disk: cost.disk[line.dataset].bytes,
  }));
  const all = {
    name: 'in all',
    series: lines.reduce((sum, line) => sum + line.series, 0),
    missingMs: lines.reduce((sum, line) => sum + line.missingMs, 0),
    requests: cost.requests,
    points: cost.points,
    disk: diskInAll(cost.disk, 'bytes'),
  };
  if (all.requests === 0 && all.series > 0)
    return [
      backfillLine(cost),
      ...laterLines(cost),
      ...freshLines(cost),
      ...assumedLines(cost),
      ...sourceLines(cost),
    ].join('\n');
  if (all.series === 0) return 'no series is tracked: see `tidemark track --help`';
  const rows = lines.length > 1 ? [...lines, all] : lines;
  return [
    table(
      [
        { title: '', value: (row) => row.name },
        { title: 'series', value: (row) => formatCount(row.series), right: true },
        {
          title: 'missing in all',
          value: (row) => (row.missingMs === 0 ? '-' : formatDuration(row.missingMs)),
          right: true,
        },
        { title: 'requests', value: (row) => formatCount(row.requests), right: true },
        { title: 'points, at most', value: (row) => formatCount(row.points), right: true },
        { title: 'disk', value: (row) => formatBytes(row.disk), right: true },
      ],
      rows,
    ),
    '',
    backfillLine(cost),
    ...laterLines(cost),
    ...peakLines(cost),
    ...freshLines(cost),
    ...assumedLines(cost),
    ...sourceLines(cost),
    ...loweredLines(cost),
  ].join('\n');
}

/** The default source is in the lines of the whole. */
const beside = (sources: readonly SourceCost[]) => sources.filter(({ source }) => source !== defaultSource);

const loweredLines = ({ lowered }: PlanCost): string[] =>
  lowered.map(([source, budget]) => `the budget of ${source} is ${loweredText(budget)}`);

/** The part of each source, in its own unit, and what its limits and its depth do not allow. */
function sourceLines({ sources, isShared }: PlanCost): string[] {
  return beside(sources).flatMap((one) => [
    ...partLine(one),
    ...creditWarning(one),
    ...(isShared && isTooSlow(one.freshness, one.requestsPerMinute) ? [staleWarning(one, one.source)] : []),
    ...depthWarnings(one),
    ...unpublishedLine(one),
  ]);
}

function partLine(one: SourceCost): string[] {
  const { source, requests, unit, freshness } = one;
  const isFollowed = freshness.wantedEveryMs !== null;
  if (requests === 0 && !isFollowed) return [];
  const cost =
    unit === 'request'
      ? ''
      : `, ${unit === 'credit' ? 'about ' : ''}${formatCount(one.cost)} ${unit}${unit === 'credit' ? 's' : ''}`;
  const time = one.durationMs === null ? 'no limit' : aboutText(one.durationMs);
  const at = one.requestsPerMinute === 0 ? '' : ` at ${formatCount(one.requestsPerMinute)} a minute`;
  const missing = requests === 0 ? 'nothing is missing' : `${counted(requests, 'request')}${cost}, ${time}${at}`;
  const needed = neededOf(freshness);
  const fresh = isFollowed
    ? `; staying fresh takes ${rate(needed)} a minute${shareOf(needed, one.requestsPerMinute)}`
    : '';
  return [`${source}: ${missing}${fresh}`];
}

function creditWarning({ source, cost, long }: SourceCost): string[] {
  if (long === null) return [];
  const { left, amount, periodMs, fresh } = long;
  const period = formatDuration(periodMs);
  const free = Math.max(0, amount - fresh);
  const lines: string[] = [];
  if (cost > left) {
    const ends =
      free === 0 ? 'it does not end' : `it takes about ${formatDuration(Math.ceil((cost - left) / free) * periodMs)}`;
    lines.push(
      `warning: ${source} has ${formatCount(left)} of ${formatCount(amount)} credits in ${period} left, and this ` +
        `needs about ${formatCount(cost)}: ${ends}`,
    );
  }
  if (fresh > amount)
    lines.push(
      `warning: staying fresh needs about ${formatCount(fresh)} credits in ${period}, and ${source} allows ` +
        `${formatCount(amount)}`,
    );
  return lines;
}

function depthWarnings({ source, depth, atRisk, lostMs }: SourceCost): string[] {
  if (depth === null) return [];
  const kept =
    `${source} keeps the newest ` +
    `${'ms' in depth ? formatDuration(depth.ms) : `${formatCount(depth.periods)} periods`}`;
  const lines: string[] = [];
  if (lostMs > 0)
    lines.push(`warning: ${kept}: ${formatDuration(lostMs)} of the missing ranges are older, and stay missing`);
  const [first, ...others] = atRisk;
  if (first !== undefined) {
    const { interval } = first;
    const of = 'ms' in depth ? '' : ` (${formatDuration(depth.periods * intervalMs[interval])} of ${interval})`;
    const which = others.length === 0 ? seriesName(first) : [...new Set(atRisk.map((one) => one.interval))].join(', ');
    lines.push(`warning: ${kept}${of}: a longer break loses data of ${which} for good`);
  }
  return lines;
}

function unpublishedLine({ source, unpublishedMs }: SourceCost): string[] {
  if (unpublishedMs === 0) return [];
  return [
    `${source} has no file yet of ${formatDuration(unpublishedMs)}: they stay missing until it has, or until a ` +
      'source after it is named',
  ];
}

function backfillLine({ requests, durationMs, requestsPerMinute, isShared, sources }: PlanCost): string {
  if (requests === 0)
    return sources.some(({ lostMs, unpublishedMs }) => lostMs + unpublishedMs > 0)
      ? 'nothing is missing that a source has'
      : 'nothing is missing';
  const unlimited = sources.filter((one) => one.requests > 0 && one.durationMs === null);
  const untimed =
    unlimited.length === 0
      ? 'the source has no limit'
      : `as long as the files of ${unlimited.map(({ source }) => source).join(', ')} take`;
  const time = durationMs === null ? untimed : aboutText(durationMs);
  if (isShared) return `missing ranges take ${counted(requests, 'request')} to several sources at a time: ${time}`;
  const budget = requestsPerMinute === 0 ? '' : ` at ${formatCount(requestsPerMinute)} a minute, next to refreshes`;
  return `missing ranges take ${counted(requests, 'request')}: ${time}${budget}`;
}

function laterLines({ laterRequests, lastAtMs }: PlanCost): string[] {
  if (lastAtMs === null) return [];
  return [
    `of them ${formatCount(laterRequests)} ${laterRequests === 1 ? 'waits' : 'wait'} for a retry, the last at ` +
      `${formatTime(lastAtMs)}`,
  ];
}

/** Of events of which too little is stored to tell how often they come. */
function assumedLines({ assumed }: PlanCost): string[] {
  return datasetNames.flatMap((dataset) => {
    const of = assumed.filter((series) => series.dataset === dataset);
    const [first] = of;
    const { word, time } = datasetOf(dataset);
    if (first === undefined || time.density !== 'linked') return [];
    return [
      `the interval of ${word} is not known yet of ${formatCount(of.length)} series: one event in ` +
        `${formatDuration(time.longestMs)} is assumed, and there may be up to ` +
        `${time.longestMs / intervalMs[first.interval]} times as many, with as many more requests`,
    ];
  });
}

/** A smaller peak is not shown. */
const notablePeak = 1.1;

function peakLines(cost: PlanCost): string[] {
  const peakBytes = diskInAll(cost.disk, 'peakBytes');
  if (peakBytes < notablePeak * diskInAll(cost.disk, 'bytes')) return [];
  return [`disk usage peaks at ${formatBytes(peakBytes)} before the hourly columnstore policy compresses it`];
}

const rate = (perMinute: number) => perMinute.toFixed(perMinute < 10 ? 2 : 0);

function neededOf({ refreshPerMinute, rereadPerMinute, pollPerMinute }: Freshness): number {
  return refreshPerMinute + rereadPerMinute + pollPerMinute;
}

function shareOf(needed: number, requestsPerMinute: number): string {
  return requestsPerMinute === 0 ? '' : `, ${((100 * needed) / requestsPerMinute).toFixed(1)} % of the budget`;
}

/** Whether the budget is too small for the wanted refreshes. */
function isTooSlow({ wantedEveryMs, everyMs }: Freshness, requestsPerMinute: number): boolean {
  return wantedEveryMs !== null && requestsPerMinute !== 0 && (everyMs === null || everyMs > wantedEveryMs);
}

function freshLines(cost: PlanCost): string[] {
  const { freshness, requestsPerMinute, isShared, sources } = cost;
  const own = sources.find(({ source }) => source === defaultSource);
  const { refreshPerMinute, rereadPerMinute, pollPerMinute, wantedEveryMs } = freshness;
  const parts = [
    `${rate(refreshPerMinute)} for new periods`,
    `${rate(rereadPerMinute)} to read recent days again`,
    `${rate(pollPerMinute)} for polls`,
  ];
  const needed = neededOf(freshness);
  const share = isShared ? '' : shareOf(needed, requestsPerMinute);
  const lines = [`staying fresh takes ${rate(needed)} requests a minute${share}: ${parts.join(', ')}`];
  if (isShared)
    return own !== undefined && isTooSlow(own.freshness, own.requestsPerMinute)
      ? [...lines, staleWarning({ ...cost, freshness: own.freshness }, 'SOURCE_URL')]
      : lines;
  if (isTooSlow(freshness, requestsPerMinute)) return [...lines, staleWarning(cost, null)];
  if (wantedEveryMs === null || requestsPerMinute === 0) return lines;
  if (freshness.everyMsInBackfill !== null && freshness.everyMsInBackfill <= wantedEveryMs) return lines;
  return [
    ...lines,
    'during backfill the newest data is refreshed ' +
      `${freshness.everyMsInBackfill === null ? 'last' : `every ${formatDuration(freshness.everyMsInBackfill)}`}`,
  ];
}

/** Says what a budget that is too small causes, and what would be enough. @param source null: the only one. */
function staleWarning(
  { freshness, isWithoutKey = false }: { readonly freshness: Freshness; readonly isWithoutKey?: boolean },
  source: string | null,
): string {
  const { wantedEveryMs, everyMs, everyMsInBackfill, neededPerMinute, maxThatFit } = freshness;
  const wanted = formatDuration(wantedEveryMs ?? 0);
  const stale =
    everyMs === null
      ? 'will not be refreshed at all'
      : `will be refreshed every ${formatDuration(everyMs)}` +
        (everyMsInBackfill === null ? '' : `, or every ${formatDuration(everyMsInBackfill)} during backfill`);
  const key = isWithoutKey ? ` (with a key the source allows ${requestsPerMinute.withKey})` : '';
  return (
    `warning: the budget${source === null ? '' : ` of ${source}`} cannot keep this fresh. Series to refresh every ` +
    `${wanted} ${stale}. ` +
    `${formatCount(neededPerMinute)} requests a minute are enough${key}; so are at most ` +
    `${formatCount(maxThatFit)} series ` +
    `at that interval, or a longer interval for the rest.`
  );
}

/** What a command is about to request, a line for each source; prints nothing where nothing is requested. */
export function printCost(costs: readonly CommandCost[]): void {
  for (const cost of costs) console.log(commandCostText(cost));
}

export function commandCostJson(costs: readonly CommandCost[]): JsonDocument<'retry'>['cost'] {
  return costs.map(
    ({ source, requests, cost, unit, requestsPerMinute, durationMs, long, queued, isPaused, refusedUntilMs }) => ({
      ...{ source, requests, cost, unit, requestsPerMinute },
      budgetShare: requestsPerMinute === 0 ? null : requests / requestsPerMinute,
      seconds: durationMs === null ? null : durationMs / 1000,
      queued,
      left: long?.left ?? null,
      paused: isPaused,
      refusedUntil: isoTime(refusedUntilMs),
    }),
  );
}

export function costJson(cost: PlanCost): JsonDocument<'plan'> {
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1000);
  const { freshness } = cost;
  return {
    requests: cost.requests,
    points: cost.points,
    diskBytes: Math.round(diskInAll(cost.disk, 'bytes')),
    peakDiskBytes: Math.round(diskInAll(cost.disk, 'peakBytes')),
    seconds: seconds(cost.durationMs),
    laterRequests: cost.laterRequests,
    laterUntil: isoTime(cost.lastAtMs),
    requestsPerMinute: cost.requestsPerMinute,
    sources: beside(cost.sources).map((one) => ({
      source: one.source,
      series: one.series,
      requests: one.requests,
      cost: one.cost,
      unit: one.unit,
      requestsPerMinute: one.requestsPerMinute,
      seconds: seconds(one.durationMs),
      keepsPeriods: one.depth !== null && 'periods' in one.depth ? one.depth.periods : null,
      lostSeconds: one.lostMs / 1000,
      neededPerMinute: neededOf(one.freshness),
      left: one.long?.left ?? null,
      freshCost: one.long?.fresh ?? null,
    })),
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
      maxThatFit: freshness.maxThatFit,
    },
  };
}
