/** What a plan will cost, as `plan` and `--dry-run` show it. */

import { requestsPerMinute } from '../contract/limits.ts';
import type { Disk } from '../planning/disk.ts';
import type { Cost } from '../planning/estimate.ts';
import type { PlanCost } from './cost.ts';
import { table } from './table.ts';
import { bytes, count, counted, duration, moment } from './wording.ts';

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
