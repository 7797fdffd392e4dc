/** Formats the cost of a plan for `plan` and `--dry-run`. */

import { requestsPerMinute } from '../../contract/limits.ts';
import { counted, formatBytes, formatCount, formatDuration, formatTime, isoTime } from '../../format.ts';
import type { PlanCost } from '../../operations/estimate.ts';
import type { Cost, Disk } from '../../planning/estimate.ts';
import type { JsonDocument } from './documents.ts';
import { table } from './table.ts';

const names: Readonly<Record<Cost['dataset'], string>> = { candles: 'candles', asset_history: 'history' };

export function costText(cost: PlanCost): string {
  const lines = cost.costs.map((line) => ({
    name: names[line.dataset],
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
    disk: inAll(cost, 'bytes'),
  };
  if (all.requests === 0 && all.series > 0)
    return [backfillLine(cost), ...laterLines(cost), ...freshLines(cost), ...sourceLines(cost)].join('\n');
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
    ...sourceLines(cost),
  ].join('\n');
}

/** The part of each source, in its own unit, and what its depth loses. */
function sourceLines({ sources }: PlanCost): string[] {
  return sources.flatMap((one) => {
    const cost = one.unit === 'request' ? '' : `, ${formatCount(one.cost)} ${one.unit}`;
    const time =
      one.durationMs === null ? 'no limit' : `about ${formatDuration(Math.max(1000, one.durationMs))}`;
    const at = one.requestsPerMinute === 0 ? '' : ` at ${formatCount(one.requestsPerMinute)} a minute`;
    const line = `${one.source}: ${counted(one.requests, 'request')}${cost}, ${time}${at}`;
    if (one.depthPeriods === null) return [line];
    const kept = `${formatCount(one.depthPeriods)} periods`;
    return [
      line,
      `warning: ${one.source} keeps the newest ${kept} (${formatDuration(one.depthPeriods * 60_000)} of m1): a longer break loses data for good`,
    ];
  });
}

function backfillLine({ requests, durationMs, requestsPerMinute }: PlanCost): string {
  if (requests === 0) return 'nothing is missing';
  const time =
    durationMs === null ? 'the source has no limit' : `about ${formatDuration(Math.max(1000, durationMs))}`;
  const budget =
    requestsPerMinute === 0 ? '' : ` at ${formatCount(requestsPerMinute)} a minute, next to refreshes`;
  return `missing ranges take ${counted(requests, 'request')}: ${time}${budget}`;
}

function laterLines({ laterRequests, lastAtMs }: PlanCost): string[] {
  if (lastAtMs === null) return [];
  return [
    `of them ${formatCount(laterRequests)} deferred after failures or for a second answer: the last ${formatTime(lastAtMs)}`,
  ];
}

/** A smaller peak is not shown. */
const notablePeak = 1.1;

function peakLines(cost: PlanCost): string[] {
  const peakBytes = inAll(cost, 'peakBytes');
  if (peakBytes < notablePeak * inAll(cost, 'bytes')) return [];
  return [`disk usage peaks at ${formatBytes(peakBytes)} before the hourly columnstore policy compresses it`];
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
    `during backfill the newest data is refreshed ${freshness.everyMsInBackfill === null ? 'last' : `every ${formatDuration(freshness.everyMsInBackfill)}`}`,
  ];
}

/** Says what a budget that is too small causes, and what would be enough. */
function staleWarning({ freshness, isWithoutKey }: PlanCost): string {
  const { wantedEveryMs, everyMs, everyMsInBackfill, neededPerMinute, maxThatFit } = freshness;
  const wanted = formatDuration(wantedEveryMs ?? 0);
  const stale =
    everyMs === null
      ? 'will not be refreshed at all'
      : `will be refreshed every ${formatDuration(everyMs)}` +
        (everyMsInBackfill === null ? '' : `, or every ${formatDuration(everyMsInBackfill)} during backfill`);
  const key = isWithoutKey ? ` (with a key the source allows ${requestsPerMinute.withKey})` : '';
  return (
    `warning: the budget cannot keep this fresh. Series to refresh every ${wanted} ${stale}. ` +
    `${formatCount(neededPerMinute)} requests a minute are enough${key}; so are at most ${formatCount(maxThatFit)} series ` +
    `at that interval, or a longer interval for the rest.`
  );
}

export function costJson(cost: PlanCost): JsonDocument<'plan'> {
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1000);
  const { freshness } = cost;
  return {
    requests: cost.requests,
    points: cost.points,
    diskBytes: Math.round(inAll(cost, 'bytes')),
    peakDiskBytes: Math.round(inAll(cost, 'peakBytes')),
    seconds: seconds(cost.durationMs),
    laterRequests: cost.laterRequests,
    laterUntil: isoTime(cost.lastAtMs),
    requestsPerMinute: cost.requestsPerMinute,
    sources: cost.sources.map(({ durationMs, depthPeriods, ...one }) => ({
      ...one,
      seconds: seconds(durationMs),
      keepsPeriods: depthPeriods,
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
