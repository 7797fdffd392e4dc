/**
 * One planning pass over the series of a source: facts in; windows, pages and deferrals out.
 *
 * The scheduler asks it what to add to the queue (`scheduler/pass.ts`), and `why` what it would add
 * (`operations/next-windows.ts`): both read the same facts.
 */

import type { EpochMs } from '../model/intervals.ts';
import { byLane, countBySlots, type WindowLane, windowLanes } from '../model/lanes.ts';
import { clip, type Range } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';
import type { Limit } from '../model/sources.ts';
import type { Window } from '../model/window.ts';
import { type FreeSlots, freeSlots, rereadSlots, windowCost } from './budget.ts';
import { type PlanRules, planWindows, type SeriesGaps } from './plan.ts';
import type { PollPage } from './polls.ts';
import { planRereads, type RereadDue } from './reread.ts';
import { gapsFor, isLive, type SourcePlace, type SourceRules } from './source-share.ts';

export interface PassSource extends SourceRules {
  readonly name: string;
  /** 0: no limit. */
  readonly requestsPerMinute: number;
  /** Its limit of a long period, such as the credits of a month; null: none. */
  readonly longLimit: Limit | null;
}

/** What the queue holds of a source. */
export interface Claimed {
  readonly windows: ReadonlyMap<number, ReadonlyArray<Range & { readonly lane?: WindowLane }>>;
  /** Number of windows. */
  readonly load: Readonly<Record<WindowLane, number>>;
  /** Job ids of pages. */
  readonly pages: ReadonlySet<string>;
}

/** What decides whether anything can be added, before any gap is read. */
export interface LoadFacts {
  readonly source: Pick<PassSource, 'requestsPerMinute' | 'longLimit'>;
  readonly claimed: Claimed;
  /** Whether a user paused all requests, or those to the source. */
  readonly isPaused: boolean;
  /** Refreshes and pages that started in the last minute. */
  readonly refreshesStarted: number;
  /** What is left of the long limit, in its unit; infinite without one. */
  readonly longLimitLeft: number;
  /** Share of the budget that refreshes leave to backfill. */
  readonly backfillShare: number;
}

export interface PassFacts extends LoadFacts, Pick<PlanRules, 'nowMs' | 'graceMs' | 'rereadPeriods'> {
  readonly source: PassSource;
  /** Series with gaps that are due. */
  readonly series: readonly SeriesGaps[];
  /** Whether `series` has every series and every gap. */
  readonly isAll: boolean;
  /** Range of each series to plan; a series without one: its tracked range. */
  readonly within?: ReadonlyMap<number, Range> | undefined;
  /** The place of the source among those of a series; none of a series that it alone gives. */
  readonly places: ReadonlyMap<number, SourcePlace>;
  /** Preferred sources that do not answer, that have banned us for longer, or that a user has paused. */
  readonly away: ReadonlySet<string>;
  readonly dueRereads: readonly RereadDue[];
  /** Start of the round of rereads. */
  readonly roundMs: EpochMs;
  readonly duePages: readonly PollPage[];
  /** Last series of the previous pass, where the round-robin continues. */
  readonly cursor: number;
}

/** Ranges that the source no longer keeps. */
export interface Lost {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly ranges: readonly Range[];
}

export interface PassPlan {
  readonly windows: readonly Window[];
  readonly pages: readonly PollPage[];
  /** To be deferred: they stay gaps with this reason, and are never requested. */
  readonly lost: readonly Lost[];
  readonly cursor: number;
  /** Whether slots are free although the facts lack gaps. */
  readonly needsMore: boolean;
}

/** The load of an empty queue, of a source that has been asked for nothing yet. */
export function idleLoad(requestsPerMinute: number, backfillShare: number): LoadFacts {
  return {
    source: { requestsPerMinute, longLimit: null },
    claimed: { windows: new Map(), load: byLane(windowLanes, () => 0), pages: new Set() },
    ...{ isPaused: false, refreshesStarted: 0, longLimitLeft: Number.POSITIVE_INFINITY },
    backfillShare,
  };
}

/** Jobs that a pass has added, and that are in the queue. */
export function queuedOf({ load, pages }: Claimed): number {
  const planned = (['refresh', 'backfill', 'reread'] as const).map((slots) => countBySlots(load, slots));
  return planned.reduce((sum, count) => sum + count, pages.size);
}

/** @returns null: nothing can be added now. */
export function slotsOf(facts: LoadFacts): FreeSlots | null {
  const { claimed, longLimitLeft: left } = facts;
  if (facts.isPaused) return null;
  // What is queued is not in the ledger yet: the next windows wait until it is known what these cost.
  if (left <= 0 || (left < Number.POSITIVE_INFINITY && queuedOf(claimed) > 0)) return null;
  const slots = freeSlots({
    requestsPerMinute: facts.source.requestsPerMinute,
    backfillShare: facts.backfillShare,
    // Pages rank before backfill, like refreshes, and share their slots.
    queued: {
      refresh: countBySlots(claimed.load, 'refresh') + claimed.pages.size,
      backfill: countBySlots(claimed.load, 'backfill'),
      reread: countBySlots(claimed.load, 'reread'),
    },
    refreshesStarted: facts.refreshesStarted,
  });
  return slots.total === 0 ? null : slots;
}

export function planPass(facts: PassFacts): PassPlan {
  const { source, claimed, nowMs, cursor, duePages } = facts;
  const { longestRangeMs } = source;
  const slots = slotsOf(facts);
  if (slots === null) return { windows: [], pages: [], lost: [], cursor, needsMore: false };
  const places = presentPlaces(facts);
  const again = planRereads({
    source: source.name,
    due: facts.dueRereads,
    claimed: claimed.windows,
    longestRangeMs,
    roundMs: facts.roundMs,
    most: slots.total,
  }).filter(({ seriesId }) => isLive(source, places.get(seriesId)));
  const queued = countBySlots(claimed.load, 'reread');
  const share = rereadSlots({ requestsPerMinute: source.requestsPerMinute, queued });
  const reservedSlots = Math.min(again.length, share) + duePages.length;
  const plan = planWindows({
    ...{ nowMs, graceMs: facts.graceMs, rereadPeriods: facts.rereadPeriods, longestRangeMs, files: source.files },
    ...{ source: source.name, claimed: claimed.windows, slots, reservedSlots, cursor },
    series: facts.series.map((entry) => {
      const bounds = facts.within?.get(entry.seriesId);
      const within = bounds === undefined ? entry : { ...entry, gaps: clip(entry.gaps, bounds) };
      return gapsFor(within, source, places.get(entry.seriesId), nowMs).open;
    }),
  });
  // Pages also get the slots that backfill does not use.
  const refreshes = plan.windows.filter(({ lane }) => lane === 'refresh').length;
  const pages = duePages.slice(0, Math.max(0, slots.refresh - refreshes));
  const rest = Math.max(0, slots.total - plan.windows.length - pages.length);
  return {
    windows: withinLongLimit([...plan.windows, ...again.slice(0, rest)], facts),
    pages,
    lost: lostOf(facts),
    cursor: plan.cursor,
    needsMore: !facts.isAll && plan.windows.length < slots.total - reservedSlots,
  };
}

/** The places without the preferred sources that are away: their part is taken over meanwhile. */
function presentPlaces({ places, away }: PassFacts): ReadonlyMap<number, SourcePlace> {
  if (away.size === 0) return places;
  const present = (place: SourcePlace) => ({ ...place, better: place.better.filter((name) => !away.has(name)) });
  return new Map([...places].map(([seriesId, place]) => [seriesId, present(place)]));
}

/** A preferred source that is away may have what this one has lost, when it is back. */
function lostOf({ series, source, places, nowMs }: PassFacts): Lost[] {
  if (source.offers?.some(({ depth }) => depth !== null) !== true) return [];
  return series
    .map((entry) => ({
      ...{ seriesId: entry.seriesId, series: entry.series },
      ranges: gapsFor(entry, source, places.get(entry.seriesId), nowMs).lost,
    }))
    .filter(({ ranges }) => ranges.length > 0);
}

/** The windows that the long limit allows, if each period has a row. */
function withinLongLimit(windows: readonly Window[], { source, longLimitLeft }: PassFacts): readonly Window[] {
  const { longLimit } = source;
  if (longLimit === null) return windows;
  let rest = longLimitLeft;
  return windows.filter((window) => {
    const cost = windowCost(longLimit, window);
    if (cost > rest) return false;
    rest -= cost;
    return true;
  });
}
