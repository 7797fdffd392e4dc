/** What `retry`, `verify` and `repair` are about to request, by source, in the terms of a plan. */

import { aboutText, counted, formatCount, formatTime, wholeSecond } from '../model/format.ts';
import { type EpochMs, minuteMs } from '../model/intervals.ts';
import type { LaneRule } from '../model/lanes.ts';
import type { Range } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';
import { requestsBetween } from '../planning/budget.ts';
import type { EstimateRules, PlannedSeries } from '../planning/estimate.ts';
import { requestsOfWindow } from '../sources/profiles/profile.ts';
import { readSourceTexts } from '../store/series/sources.ts';
import { readSourcePauses } from '../store/settings/source-orders.ts';
import { readRefusedUntil } from '../store/settings/source-refusal.ts';
import { backlogAt, readDemand } from './backfill/eta.ts';
import { type OperationContext, withQueues } from './context.ts';
import { readBudget } from './estimate.ts';
import { costOfPart, type SourceCost } from './source-cost.ts';
import { type GapsContext, readGapDivision } from './source-gaps.ts';
import { readQueueFacts } from './status/queue-facts.ts';

/** Windows of a series that a source is asked for. */
export interface AskedWindows {
  readonly source: string;
  readonly series: SeriesKey;
  readonly ranges: readonly Range[];
  readonly windows: number;
}

export interface CommandCost
  extends Pick<SourceCost, 'source' | 'requests' | 'requestsPerMinute' | 'durationMs' | 'cost' | 'unit' | 'long'> {
  /** The source in a sentence. */
  readonly sourceText: string;
  /** It gets none of them until it is resumed. */
  readonly isPaused: boolean;
  /** It accepts no request before; null: it accepts them. */
  readonly refusedUntilMs: EpochMs | null;
  /** Requests to the source that come before, such as those of a backfill. */
  readonly queued: number;
}

/** Nothing is followed: a command comes after refreshes, which `plan` counts. */
const onlyRequests: Omit<EstimateRules, 'requestsPerMinute'> = {
  ...{ longestRangeMs: () => Number.POSITIVE_INFINITY, backfillShare: 0, refreshMs: 0, pollsEveryMs: [] },
  reread: { periods: 0, rangeMs: 0, everyMs: 0 },
};

type CostContext = GapsContext & Pick<OperationContext, 'openQueues' | 'clock'>;

/**
 * @param slots of its windows: those of a backfill take turns with others, those of a command have a tenth beside it.
 * @returns the sources that are asked for something, in the order of the windows.
 */
export async function costOfCommand(
  context: CostContext,
  asked: Iterable<AskedWindows>,
  slots: Extract<LaneRule['slots'], 'backfill' | 'command'>,
): Promise<CommandCost[]> {
  const registry = await context.sources();
  const parts = new Map<string, PlannedSeries[]>();
  for (const { source, series, ranges, windows } of asked) {
    const setup = registry.find(source);
    if (setup === undefined || windows === 0) continue;
    const planned = parts.get(source) ?? [];
    parts.set(source, planned);
    const requests = windows * requestsOfWindow(setup.profile);
    planned.push({ series, missing: ranges, requests, isFollowed: false, density: null });
  }
  const costs: CommandCost[] = [];
  const { database } = context;
  const nameOf = await readSourceTexts(database, context.clock.now());
  const pauses = await readSourcePauses(database);
  for (const [source, planned] of parts) {
    const requestsPerMinute = await readBudget(context, source);
    const part = { source: { setup: registry.get(source) }, planned, unarchived: [], wanted: 0 };
    const rules = { ...onlyRequests, requestsPerMinute };
    const cost = await costOfPart(context, { ...part, lostMs: 0, unpublishedMs: 0 }, rules, context.clock.now());
    const between = slots === 'command' && requestsPerMinute > 0 ? await readBetween(context, cost) : 0;
    const durationMs = cost.durationMs === null ? null : cost.durationMs + (between * minuteMs) / requestsPerMinute;
    costs.push({
      ...{ ...cost, durationMs, sourceText: nameOf(source), isPaused: pauses.has(source) },
      refusedUntilMs: await readRefusedUntil(database, source, context.clock.now()),
      queued: await queuedOf(context, source),
    });
  }
  return costs;
}

/** Requests of a backfill that come between those of the command; 0 while the queue does not answer. */
async function readBetween(
  context: CostContext,
  { source, requests, requestsPerMinute }: Pick<SourceCost, 'source' | 'requests' | 'requestsPerMinute'>,
): Promise<number> {
  // The backlog is not read for a few requests.
  if (requestsBetween(requests, Number.POSITIVE_INFINITY, requestsPerMinute) === 0) return 0;
  const queue = await withQueues(context, (queues) => readQueueFacts(context, queues, [source], new Map())).catch(
    () => null,
  );
  if (queue === null) return 0;
  const nowMs = context.clock.now();
  const { divide } = await readGapDivision(context, nowMs);
  const demand = await readDemand(context, queue, { nowMs, divide });
  return requestsBetween(requests, backlogAt(source, demand), requestsPerMinute);
}

/** 0 while the queue does not answer: a cost is shown without it too. */
async function queuedOf(context: Pick<OperationContext, 'openQueues'>, source: string): Promise<number> {
  return withQueues(context, async (queues) => (await queues.requestsOf(source).depth()).waiting).catch(() => 0);
}

/**
 * `12 requests to binance, 2.4 % of a minute's budget, about 2 s, after 250 that are queued (about 30 s)`, or
 * `12 requests to binance, which is paused`.
 */
export function commandCostText(costs: CommandCost): string {
  const {
    sourceText: to,
    requests,
    requestsPerMinute,
    durationMs,
    cost,
    long,
    queued,
    isPaused,
    refusedUntilMs,
  } = costs;
  if (isPaused) return `${counted(requests, 'request')} to ${to}, which is paused`;
  const limited =
    durationMs === null
      ? ['no limit']
      : [`${percent(requests / requestsPerMinute)} of a minute's budget`, aboutText(durationMs)];
  const queuedFor = requestsPerMinute === 0 ? '' : ` (${aboutText((queued * minuteMs) / requestsPerMinute)})`;
  const before = [
    ...(refusedUntilMs === null ? [] : [formatTime(wholeSecond(refusedUntilMs))]),
    ...(queued === 0 ? [] : [`${formatCount(queued)} that are queued${queuedFor}`]),
  ];
  const after = before.length === 0 ? [] : [`after ${before.join(' and ')}`];
  const credits =
    long === null ? [] : [`about ${formatCount(cost)} of the ${formatCount(long.left)} ${long.unit}s that are left`];
  return [`${counted(requests, 'request')} to ${to}`, ...limited, ...after, ...credits].join(', ');
}

/** Two digits: a share of a minute may be far more than all of it, or far less than a percent. */
const percent = (share: number) => `${Number((100 * share).toPrecision(2)).toLocaleString('en-US')} %`;
