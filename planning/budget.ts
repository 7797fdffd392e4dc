/** The request budget: spacing of requests, and slots of each lane in the queue. */

import { formatCount, formatTime } from '../model/format.ts';
import { type EpochMs, intervalMs } from '../model/intervals.ts';
import { printable } from '../model/names.ts';
import { lengthMs } from '../model/ranges.ts';
import type { Limit } from '../model/sources.ts';
import { askedInterval, isProbe, type Window } from '../model/window.ts';

/**
 * Jobs start up to one spacing late, and network jitter may push one request more than the budget into a rolling
 * minute. A spacing half a percent wider prevents that: at 500 a minute, 501 requests take 60.5 s.
 */
const spacingMargin = 1.005;

/**
 * The queue's limiter: `max` requests every `durationMs`, one unless the budget is large. Even spacing suits sources
 * that count a fixed minute and those that count a rolling minute. Null: no limit.
 */
export function limiterFor(requestsPerMinute: number): { max: number; durationMs: number } | null {
  if (requestsPerMinute <= 0) return null;
  // Jobs start a millisecond or two late, and a spacing is rounded up: of a short one these are several percent.
  const max = requestsPerMinute <= singlyUpTo ? 1 : Math.floor(requestsPerMinute * togetherShare);
  return { max, durationMs: Math.ceil((max * 60_000 * spacingMargin) / requestsPerMinute) };
}

/** Requests a minute up to which each is spaced alone. */
const singlyUpTo = 500;
/**
 * Of a minute's budget, what may start together. It is less than the margin, so a rolling minute stays within the
 * budget.
 */
const togetherShare = 0.004;

/** Of their time, what those that start together are spread over. A process that is late catches up in the rest. */
const spreadShare = 0.8;

/** Milliseconds between requests that a limiter starts together; 0: each starts alone, or there is no limit. */
export function spacingWithin(limiter: ReturnType<typeof limiterFor>): number {
  return limiter === null || limiter.max === 1 ? 0 : (spreadShare * limiter.durationMs) / limiter.max;
}

/** What a limit allows each minute. */
export interface PeriodLimit {
  readonly amount: number;
  readonly periodMs: number;
  readonly isShared?: boolean;
}

/** Limits of a longer period are no spacing: a month's credits may be used in a day. */
const longestSpacedMs = 3_600_000;

/** The limit of a long period, such as the credits of a month; null: there is none. */
export function longLimitOf<Kind extends PeriodLimit>(limits: readonly Kind[]): Kind | null {
  return limits.find(({ periodMs }) => periodMs > longestSpacedMs) ?? null;
}

/** What requests cost of a limit that may count bytes. */
export function expectedCost({ bytesEach, rowBytes = 0 }: Limit, rows: number, requests = 1): number {
  return requests + (bytesEach === undefined ? 0 : Math.ceil((rows * rowBytes) / bytesEach));
}

/** What a window costs of a long limit, if each period has a row. */
export function windowCost(limit: Limit, window: Window): number {
  // Most days of a probe are before the beginning of the series, and have no row.
  if (isProbe(window)) return 1;
  return expectedCost(limit, lengthMs([window.asks]) / intervalMs[askedInterval(window)]);
}

/**
 * Requests that are left of a long limit, by what a request has cost so far.
 *
 * @param used of the limit, in `requests` requests.
 */
export function requestsLeft(
  { amount }: PeriodLimit,
  { used, requests }: { readonly used: number; readonly requests: number },
): number {
  const each = requests === 0 ? 1 : used / requests;
  return Math.max(0, Math.floor((amount - used) / each));
}

/**
 * Requests a minute that all limits allow.
 *
 * @param cost of one request, in the unit of the limits.
 * @param budget what may be used each minute of the first limit; null: all, or half of one that is shared.
 */
export function requestsPerMinuteOf(limits: readonly PeriodLimit[], cost: number, budget: number | null): number {
  const spaced = limits.filter(({ periodMs }) => periodMs <= longestSpacedMs);
  const share = (limit: PeriodLimit) => (limit.isShared === true && budget === null ? 0.5 : 1);
  const perMinute = spaced.map((limit) => (share(limit) * usableOf(limit) * 60_000) / limit.periodMs);
  const least = Math.min(...perMinute, budget ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(least) ? Math.max(1, Math.floor(least / cost)) : 0;
}

/** Up to this period the lateness of a few requests, or those that start together, count. */
const shortMs = 10_000;

/** What may be used of a limit, so that late starts exceed no rolling period: a refusal costs a pause of a minute. */
function usableOf({ amount, periodMs }: PeriodLimit): number {
  if (periodMs > shortMs) return amount;
  return amount < 4 ? 0.9 * amount : amount - Math.max(2, Math.ceil(0.05 * amount));
}

/** Budget of a process, from its configuration. */
export interface OwnBudget {
  /** 0: no limit. */
  readonly requestsPerMinute: number;
  /** Whether a number or a key was configured. If not, the budget of the workers applies. */
  readonly isBudgetStated: boolean;
}

/** The budget that applies. @param present budgets of connected workers and schedulers. */
export function budgetInForce(own: OwnBudget, present: readonly number[]): number {
  if (present.length === 0) return own.requestsPerMinute;
  return lowestBudget(own.isBudgetStated ? [own.requestsPerMinute, ...present] : present);
}

/** The lowest of several budgets. 0: no limit. */
export function lowestBudget(budgets: readonly number[]): number {
  const limited = budgets.filter((budget) => budget > 0);
  return limited.length === 0 ? 0 : Math.min(...limited);
}

/** A user's own figure for a source, until it is taken back. */
export interface LoweredBudget {
  readonly perMinute: number;
  /** What it is in place of; 0: no limit; absent: not known. */
  readonly ownPerMinute?: number;
  readonly sinceMs: EpochMs;
  /** Who lowered it, such as an address; null: a command. */
  readonly by: string | null;
}

/** The budget with a user's own figure, which never raises it. @param perMinute without that one; 0: no limit. */
export function lowerBudget(perMinute: number, lowered: LoweredBudget | null | undefined): number {
  return lowered == null ? perMinute : lowestBudget([perMinute, lowered.perMinute]);
}

/**
 * The user's figure as long as it is not above the source's own; null: it is.
 *
 * @param ownPerMinute without that one; 0: no limit.
 */
export function loweredInForce(
  ownPerMinute: number,
  lowered: LoweredBudget | null | undefined,
): Required<LoweredBudget> | null {
  if (lowered == null || lowerBudget(ownPerMinute, lowered) !== lowered.perMinute) return null;
  return { ...lowered, ownPerMinute };
}

/** Such as `lowered from 3,000 to 30 a minute since 2026-01-31 06:00Z by 127.0.0.1`. */
export function loweredText({ perMinute, ownPerMinute, sinceMs, by }: LoweredBudget): string {
  const who = by === null ? '' : ` by ${printable(by)}`;
  const from = ownPerMinute === 0 ? 'no limit' : formatCount(ownPerMinute ?? 0);
  const how = ownPerMinute === undefined ? '' : ` from ${from} to ${formatCount(perMinute)} a minute`;
  return `lowered${how} since ${formatTime(sinceMs)}${who}`;
}

/** The budget of several sources together. 0: no limit. */
export function totalBudget(budgets: readonly number[]): number {
  return budgets.includes(0) ? 0 : budgets.reduce((sum, budget) => sum + budget, 0);
}

/** Warning about different budgets; null: they are equal. */
export function differingBudgets(
  { requestsPerMinute: own, isBudgetStated }: OwnBudget,
  present: readonly number[],
): string | null {
  const others = present.filter((budget) => budget !== own);
  if (others.length === 0 || !isBudgetStated) return null;
  const text = (budget: number) => (budget === 0 ? 'no limit' : `${budget} requests a minute`);
  return (
    `processes on this queue have different budgets: ${text(own)} here, ${others.map(text).join(' and ')} ` +
    `elsewhere; ${text(lowestBudget([own, ...others]))} holds for all (SOURCE_REQUESTS_PER_MINUTE)`
  );
}

/** Jobs in the queue without a limit: enough for any worker, and quick to list. */
const unlimitedHorizon = 1000;

export interface QueueLoad {
  readonly refresh: number;
  readonly backfill: number;
  readonly reread?: number;
}

export interface FreeSlots {
  /** Windows that may be added. The queue then holds at most one minute of budget. */
  readonly total: number;
  /** At most so many refreshes while a backfill runs. */
  readonly refresh: number;
}

/**
 * Free slots of the queue. Refreshes run before backfill, so the number of admitted refreshes preserves backfill's
 * share: together with those started in the last minute they never exceed `1 - backfillShare` of the budget.
 *
 * @param queued jobs in the queue, by lane. @param refreshesStarted refresh requests in the last 60 s.
 */
export function freeSlots(input: {
  readonly requestsPerMinute: number;
  readonly backfillShare: number;
  readonly queued: QueueLoad;
  readonly refreshesStarted: number;
}): FreeSlots {
  const horizon = horizonOf(input.requestsPerMinute);
  const { refresh, backfill, reread = 0 } = input.queued;
  const total = Math.max(0, horizon - refresh - backfill - reread);
  const reserved = Math.ceil(horizon * input.backfillShare);
  const limited = input.requestsPerMinute > 0;
  const taken = input.queued.refresh + (limited ? input.refreshesStarted : 0);
  return { total, refresh: Math.max(0, Math.min(total, horizon - reserved - taken)) };
}

/**
 * Share of the budget that rereads may take from backfill. Three days of a thousand `m1` series are three thousand
 * requests a day, 0.4 % of 500 a minute.
 */
const rereadShare = 0.05;

/** Slots for rereads while a backfill runs; at least one. */
export const rereadSlots = (load: Load): number => slotsOf(rereadShare, load);

/** Share of a minute's budget that a command keeps in the queue, so that it does not run empty between two polls. */
const commandShare = 0.1;

/** Slots for commands (verify, repair), beside the planner's. What a backfill has queued comes first. */
export const commandSlots = (load: Load): number => slotsOf(commandShare, load);

/**
 * Requests of a backfill that come between those of a command: its slots are filled again behind a minute of them.
 *
 * @param backlog windows of the source that are neither fetched nor queued.
 */
export function requestsBetween(requests: number, backlog: number, requestsPerMinute: number): number {
  const rounds = Math.ceil(requests / commandSlots({ requestsPerMinute, queued: 0 })) - 1;
  return Math.min(backlog, Math.max(0, rounds) * horizonOf(requestsPerMinute));
}

interface Load {
  readonly requestsPerMinute: number;
  readonly queued: number;
}

function slotsOf(share: number, { requestsPerMinute, queued }: Load): number {
  return Math.max(0, Math.ceil(horizonOf(requestsPerMinute) * share) - queued);
}

function horizonOf(requestsPerMinute: number): number {
  return requestsPerMinute > 0 ? requestsPerMinute : unlimitedHorizon;
}
