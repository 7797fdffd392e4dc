/** Reads the facts of a planning pass, for the scheduler and for `why`. */

import type { EpochMs } from '../model/intervals.ts';
import { clip, type Range } from '../model/ranges.ts';
import { longestRange } from '../model/request-range.ts';
import type { Claimed, LoadFacts, PassFacts, PassSource } from '../planning/pass.ts';
import { type RereadSettings, roundStart } from '../planning/reread.ts';
import { passedOverAfterMs, type SourcePlace } from '../planning/source-share.ts';
import { readDueRereads, readLackingValues } from '../store/commit/reread.ts';
import type { Database } from '../store/db/database.ts';
import { countFetchesSince, readUse } from '../store/ledger/ledger.ts';
import { readOutageOf } from '../store/ledger/source-outage.ts';
import { seriesWithGaps } from '../store/series/gaps.ts';
import { readShares } from '../store/series/sources.ts';
import { readLongestRanges } from '../store/settings/settings.ts';
import { readPauseOf, readSourcePauses } from '../store/settings/source-orders.ts';

/** A source, as far as its configuration tells. */
export type PlannedSource = Omit<PassSource, 'longestRangeMs' | 'longLimit'> & Partial<Pick<PassSource, 'longLimit'>>;

export interface PassRules {
  readonly graceMs: number;
  readonly backfillShare: number;
  /** Shortest interval between two refreshes of an open candle; null: closed periods only. */
  readonly openRefreshMs: number | null;
  /** Closed periods that each refresh reads again, and the recent days to read again; absent: the default, and none. */
  readonly reread?: RereadSettings | undefined;
  /** Whether lists are polled. */
  readonly polls?: boolean | undefined;
}

export interface FactsContext {
  readonly database: Database;
  readonly source: PlannedSource;
  readonly rules: PassRules;
  /** How long the queue of another source pauses; absent: none does. */
  readonly pausedForMs?: ((source: string) => Promise<number>) | undefined;
  /** Only these series; absent: all tracked series. */
  readonly seriesIds?: readonly number[] | undefined;
  /** Range of each series to plan; absent: its tracked range. */
  readonly within?: ReadonlyMap<number, Range> | undefined;
}

/**
 * @param claimed read it before the gaps: a window that ends between the two reads is then claimed, and not planned
 * twice.
 */
export async function readLoad(
  { database, source, rules }: FactsContext,
  claimed: Claimed,
  nowMs: EpochMs,
): Promise<LoadFacts> {
  const { longLimit = null } = source;
  const started = await countFetchesSince(database, nowMs - 60_000, source.name);
  return {
    source: { requestsPerMinute: source.requestsPerMinute, longLimit },
    claimed,
    isPaused: (await readPauseOf(database, source.name)) !== null,
    refreshesStarted: started.refresh + started.poll,
    longLimitLeft:
      longLimit === null
        ? Number.POSITIVE_INFINITY
        : longLimit.amount - (await readUse(database, source.name, longLimit, nowMs)).used,
    backfillShare: rules.backfillShare,
  };
}

export type SourcePassFacts = Omit<PassFacts, 'series' | 'isAll' | 'cursor' | 'duePages'>;

const always: Range = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY };

/** What holds for all series of the source at this time. @param most rereads to read. */
export async function readFacts(
  context: FactsContext,
  load: LoadFacts,
  { nowMs, most }: { readonly nowMs: EpochMs; readonly most: number },
): Promise<SourcePassFacts> {
  const { database, source, rules, seriesIds } = context;
  const accepted = await readLongestRanges(database, source.name);
  const shares = await readShares(database, source.name, nowMs);
  const everyMs = rules.reread?.everyMs ?? Number.POSITIVE_INFINITY;
  const roundMs = rules.reread === undefined ? nowMs : roundStart(nowMs, everyMs);
  const isRereading = rules.reread !== undefined && rules.reread.rangeMs > 0;
  // The query also returns series with a queued reread, which are left out in planning.
  const waiting = [...load.claimed.windows.values()].filter((windows) =>
    windows.some(({ lane }) => lane === 'reread'),
  ).length;
  const due = { nowMs, seriesIds, source: source.name, limit: most + waiting };
  return {
    ...load,
    nowMs,
    source: { ...source, ...load.source, longestRangeMs: (key) => longestRange(key, source.offers, accepted) },
    graceMs: rules.graceMs,
    rereadPeriods: rules.reread?.periods,
    within: context.within,
    places: shares,
    away: await sourcesAway(context, shares, nowMs),
    roundMs,
    dueRereads: [
      ...(isRereading ? await readDueRereads(database, { ...rules.reread, ...due, roundMs }) : []),
      ...(await readLackingValues(database, due, source.offers ?? [])).map((one) => ({
        ...one,
        ranges: clip(one.ranges, context.within?.get(one.seriesId) ?? always),
      })),
    ],
  };
}

/** @param first the number of series to read, in the order of the round-robin, and of the ranges of each. */
export async function readSeries(
  { database, source, rules, seriesIds }: FactsContext,
  first: { readonly nowMs: EpochMs; readonly count: number; readonly ranges: number; readonly cursor: number },
): Promise<Pick<PassFacts, 'series' | 'isAll' | 'cursor'>> {
  const { nowMs, count, ranges, cursor } = first;
  const series = await seriesWithGaps(database, {
    ...{ nowMs, seriesIds, source: source.name, graceMs: rules.graceMs, openRefreshMs: rules.openRefreshMs },
    ...{ rangesPerSeries: ranges, first: { count, cursor } },
  });
  return { series, isAll: series.length < count && series.every(({ gaps }) => gaps.length <= ranges), cursor };
}

/** Preferred sources that do not answer, that have banned us for longer, or that a user has paused. */
async function sourcesAway(
  { database, pausedForMs }: FactsContext,
  places: ReadonlyMap<number, SourcePlace>,
  nowMs: EpochMs,
): Promise<ReadonlySet<string>> {
  const away = new Set<string>();
  const names = new Set([...places.values()].flatMap(({ better }) => better));
  const paused = names.size === 0 ? new Map() : await readSourcePauses(database);
  for (const name of names) {
    const outage = await readOutageOf(database, name, nowMs);
    const isAway = outage !== null && nowMs - outage.failingSinceMs >= passedOverAfterMs;
    // A usual 429 pauses for a minute at most.
    const isBanning = pausedForMs !== undefined && (await pausedForMs(name)) > passedOverAfterMs;
    if (isAway || isBanning || paused.has(name)) away.add(name);
  }
  return away;
}
