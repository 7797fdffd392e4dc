/** Which windows the series of a source need: what the scheduler adds to the queue, and what `why` says that it will. */

import type { EpochMs } from '../model/intervals.ts';
import { clip, type Range } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';
import { longestRange, type RangeLimits } from '../model/windows.ts';
import { type Plan, type PlanInput, planWindows, type SeriesGaps } from '../planning/plan.ts';
import { gapsFor, isLive, passedOverAfterMs, type SourceRules } from '../planning/source-share.ts';
import type { Database } from '../store/db/database.ts';
import { readOutageOf } from '../store/ledger/source-outage.ts';
import { readShares, type Share, type SourceName } from '../store/series/sources.ts';
import { readLongestRanges } from '../store/settings/settings.ts';

/** A source, and the series to plan. */
export interface SeriesParts extends Omit<SourceRules, 'longestRangeMs'> {
  readonly database: Database;
  /** Plans the series of this source; null or absent: of the default one. */
  readonly source?: SourceName | undefined;
  /** How long the queue of another source pauses; absent: none does. */
  readonly pausedForMs?: ((source: string) => Promise<number>) | undefined;
  readonly graceMs: number;
  /** Shortest interval between two refreshes of an open candle; null: closed periods only. */
  readonly openRefreshMs: number | null;
  /** Only these series; absent: all tracked series. */
  readonly seriesIds?: readonly number[] | undefined;
  /** Range of each series to plan; absent: its tracked range. */
  readonly within?: ReadonlyMap<number, Range> | undefined;
  readonly rangeLimits?: RangeLimits | undefined;
  /** Closed periods that each refresh reads again; default 2. */
  readonly rereadPeriods?: number | undefined;
}

type Pass = Pick<PlanInput, 'claimed' | 'slots' | 'reservedSlots' | 'cursor'>;

/** Reads what holds for all series of the source at this time. */
export async function seriesPlanner(parts: SeriesParts, nowMs: EpochMs) {
  const { database, source = null } = parts;
  const accepted = await readLongestRanges(database, source);
  const longestRangeMs = (key: SeriesKey) => longestRange(key, parts.rangeLimits, accepted);
  const rules = { ...parts, longestRangeMs };
  const all = source === null ? new Map<number, Share>() : await readShares(database, source, nowMs);
  const shares = await presentShares(parts, all, nowMs);
  return {
    longestRangeMs,
    /** Whether the source gives the newest data of a series: the first that is no archive. */
    isLive: (seriesId: number) => isLive(parts, shares.get(seriesId)),
    /** What of the gaps the source is to fill, and no longer has. A preferred source that is away may have it when it is back. */
    lostOf: (entry: SeriesGaps) => gapsFor(entry, rules, all.get(entry.seriesId), nowMs).lost,
    /** The windows of series with gaps, within the slots. */
    windowsOf(series: readonly SeriesGaps[], pass: Pass): Plan {
      return planWindows({
        ...pass,
        ...rules,
        series: series.map((entry) => {
          const bounds = parts.within?.get(entry.seriesId);
          const within = bounds === undefined ? entry : { ...entry, gaps: clip(entry.gaps, bounds) };
          return gapsFor(within, rules, shares.get(entry.seriesId), nowMs).open;
        }),
        nowMs,
      });
    },
  };
}

/** The shares without preferred sources that do not answer, or that have banned us for longer. */
async function presentShares(
  { database, pausedForMs }: SeriesParts,
  shares: ReadonlyMap<number, Share>,
  nowMs: EpochMs,
): Promise<ReadonlyMap<number, Share>> {
  const away = new Set<string>();
  for (const name of new Set([...shares.values()].flatMap(({ better }) => better))) {
    const outage = await readOutageOf(database, name, nowMs);
    const isAway = outage !== null && nowMs - outage.sinceMs >= passedOverAfterMs;
    // A usual 429 pauses for a minute at most.
    const isBanning = pausedForMs !== undefined && (await pausedForMs(name)) > passedOverAfterMs;
    if (isAway || isBanning) away.add(name);
  }
  if (away.size === 0) return shares;
  const present = (share: Share) => ({ ...share, better: share.better.filter((name) => !away.has(name)) });
  return new Map([...shares].map(([seriesId, share]) => [seriesId, present(share)]));
}
