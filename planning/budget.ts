/** The request budget: how requests are spaced, and how many of each lane the queue may hold. */

/**
 * Jobs start up to a spacing late, and requests arrive with the jitter of the network, which may push one more than
 * the budget into some rolling minute. Spacing half a percent wider than the budget's own leaves room for that: at 500
 * a minute, 501 requests then take 60.5 s.
 */
const spacingMargin = 1.005;

/**
 * The queue's limiter: one request every `durationMs`. Even spacing is safe against a source that counts a fixed
 * minute and against one that counts a rolling minute. Null for a source without a limit.
 */
export function limiterFor(requestsPerMinute: number): { max: 1; durationMs: number } | null {
  if (requestsPerMinute <= 0) return null;
  return { max: 1, durationMs: Math.ceil((60_000 * spacingMargin) / requestsPerMinute) };
}

/** How many jobs the queue holds when the source has no limit: enough for any worker, small enough to list. */
const unlimitedHorizon = 1000;

export interface QueueLoad {
  readonly refresh: number;
  readonly backfill: number;
  readonly reread?: number;
}

export interface FreeSlots {
  /** Windows that may be added in all. The queue then holds at most a minute's budget. */
  readonly total: number;
  /** Of those, at most this many refreshes while there is something to backfill. */
  readonly refresh: number;
  /** Kept for backfill while there is something to backfill. */
  readonly backfill: number;
}

/**
 * Room in the queue. Refresh jobs run first whenever there are any, so backfill's share is kept by how many
 * refreshes are let in: with those that started in the last minute they never exceed `1 - backfillShare` of it.
 *
 * @param queued jobs now in the queue, by lane. @param refreshesStarted refresh requests in the last 60 s.
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
  return {
    total,
    refresh: Math.max(0, Math.min(total, horizon - reserved - taken)),
    backfill: Math.max(0, Math.min(total, reserved - input.queued.backfill)),
  };
}

/**
 * Part of the budget that reading the trailing range again may take from backfill. Three days of a thousand series at
 * one minute are three thousand requests a day, 0.4 % of what 500 a minute allow.
 */
const rereadShare = 0.05;

/** Places in the queue for what reads the trailing range again, while there is something to backfill; at least one in all. */
export function rereadSlots(input: { readonly requestsPerMinute: number; readonly queued: number }): number {
  return Math.max(0, Math.ceil(horizonOf(input.requestsPerMinute) * rereadShare) - input.queued);
}

/** Part of a minute's budget that a command keeps in the queue: enough not to run dry between two looks. */
const askedShare = 0.1;

/**
 * Places in the queue for what commands ask for (verify, repair), all of them together. These are on top of what the
 * planner keeps there: what comes last must not take places from what comes first.
 */
export function askedSlots(input: { readonly requestsPerMinute: number; readonly queued: number }): number {
  return Math.max(0, Math.ceil(horizonOf(input.requestsPerMinute) * askedShare) - input.queued);
}

function horizonOf(requestsPerMinute: number): number {
  return requestsPerMinute > 0 ? requestsPerMinute : unlimitedHorizon;
}
