/** The part of each source in an estimate: in its own unit, beside its limits and its depth. */

import { dayMs, type EpochMs, type Interval, intervalMs, minuteMs } from '../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../contract/series.ts';
import type { Limit } from '../contract/sources.ts';
import { type Estimate, type EstimateRules, estimate, type PlannedSeries } from '../planning/estimate.ts';
import { lengthMs } from '../planning/ranges.ts';
import { divideMissing } from '../planning/source-share.ts';
import { longestRange } from '../planning/windows.ts';
import { requestsOfWindow } from '../source/profiles/profile.ts';
import { costSince } from '../store/ledger/ledger.ts';
import { readNamedSources, type SeriesSource } from '../store/series/sources.ts';
import { readLongestRanges } from '../store/settings/settings.ts';
import type { OperationContext } from './context.ts';
import type { ConfiguredSource } from './sources/configured.ts';

/** Sources of series in order of preference, by the names of the series. */
export type SourceLists = ReadonlyMap<string, readonly Pick<SeriesSource, 'source'>[]>;

export interface SourceCost extends Estimate {
  readonly source: string;
  /** Wanted series that it gives a part of. */
  readonly series: number;
  /** In `unit`. */
  readonly cost: number;
  readonly unit: Limit['unit'];
  readonly requestsPerMinute: number;
  /** Newest periods that it keeps; null: all. */
  readonly depthPeriods: number | null;
  /** The shortest interval of its followed series; null: it has none. */
  readonly shortest: Interval | null;
  /** Missing ranges of wanted series that are older than it keeps, milliseconds. */
  readonly lostMs: number;
  /** Its limit of a long period, such as the credits of a month; null: it has none. */
  readonly long: LongCost | null;
}

export interface LongCost extends Pick<Limit, 'unit' | 'amount' | 'periodMs'> {
  readonly left: number;
  /** What staying fresh costs in a period. */
  readonly fresh: number;
}

/** A part of the plan: what one source is to give. */
interface Part {
  /** Null: the default source. */
  readonly source: ConfiguredSource | null;
  readonly planned: PlannedSeries[];
  wanted: number;
  lostMs: number;
}

/** The parts of the sources, and what no source keeps any more. */
export interface DividedPlan {
  readonly parts: readonly Part[];
  /** By the name of the series. */
  readonly lost: ReadonlyMap<string, PlannedSeries['missing']>;
}

/**
 * Divides a plan among the sources of its series. The part of the default source is always there.
 *
 * @param beside followed series that share the budgets. @param pending sources of series that are not tracked yet.
 */
export async function dividePlan(
  context: OperationContext,
  wanted: readonly PlannedSeries[],
  beside: readonly PlannedSeries[],
  pending: SourceLists,
  nowMs: EpochMs,
): Promise<DividedPlan> {
  const lists = new Map([...(await readNamedSources(context.database)), ...pending]);
  const configured = lists.size === 0 ? new Map<string, ConfiguredSource>() : await context.sources();
  const parts = new Map<string | null, Part>();
  const partOf = (source: ConfiguredSource | null): Part => {
    const name = source?.name ?? null;
    const part = parts.get(name) ?? { source, planned: [], wanted: 0, lostMs: 0 };
    parts.set(name, part);
    return part;
  };
  partOf(null);
  const lost = new Map<string, PlannedSeries['missing']>();
  const divide = (entry: PlannedSeries, isWanted: boolean) => {
    const name = seriesName(entry.series);
    const sources = (lists.get(name) ?? []).flatMap(({ source }) => configured.get(source) ?? []);
    const count = (part: Part, planned: PlannedSeries) => {
      part.planned.push(planned);
      if (isWanted) part.wanted += 1;
    };
    if (sources.length === 0) {
      count(partOf(null), entry);
      return;
    }
    const divided = divideMissing(sources, entry, nowMs);
    for (const { source, missing } of divided.parts) {
      const isFollowed = entry.isFollowed && source === divided.live;
      if (missing.length > 0 || source === divided.live)
        count(partOf(source), { ...entry, missing, isFollowed });
    }
    if (divided.live !== undefined) partOf(divided.live).lostMs += lengthMs(divided.lost);
    if (divided.lost.length > 0) lost.set(name, divided.lost);
  };
  for (const entry of wanted) divide(entry, true);
  for (const entry of beside) divide(entry, false);
  return { parts: [...parts.values()], lost };
}

/** The rules of an estimate for a source. @param rules of the default source. */
export async function rulesOf(
  { database }: Pick<OperationContext, 'database'>,
  source: ConfiguredSource | null,
  rules: EstimateRules,
): Promise<EstimateRules> {
  if (source === null) return rules;
  const { name, rangeLimits, requestsPerMinute } = source;
  const accepted = await readLongestRanges(database, name);
  // The ranges of an archive are files already: of a month at most.
  const longestRangeMs = (series: SeriesKey) =>
    source.files === null ? longestRange(series, rangeLimits, accepted) : 31 * dayMs;
  const requestsEach = requestsOfWindow(source.profile);
  return { ...rules, longestRangeMs, requestsEach, requestsPerMinute, pollsEveryMs: [] };
}

/** What the part of a source costs. */
export async function costOfPart(
  { database }: Pick<OperationContext, 'database'>,
  source: ConfiguredSource,
  { planned, wanted, lostMs }: Part,
  rules: EstimateRules,
  nowMs: EpochMs,
): Promise<SourceCost> {
  const estimated = estimate(planned, rules);
  const { name, profile, limits, longLimit, requestsPerMinute, depthPeriods } = source;
  const each = (profile.resources.candles ?? profile.resources.assetHistory)?.cost ?? 1;
  const { requests, points, freshness } = estimated;
  const rest = {
    source: name,
    series: wanted,
    requestsPerMinute,
    depthPeriods,
    lostMs,
    shortest: shortestOf(planned),
  };
  const [first] = limits;
  if (longLimit === null)
    return { ...estimated, ...rest, cost: requests * each, unit: first?.unit ?? 'request', long: null };
  const { unit, amount, periodMs, bytesEach } = longLimit;
  const { used } = await costSince(database, name, { sinceMs: nowMs - periodMs, bytesEach });
  const perMinute = freshness.refreshPerMinute + freshness.rereadPerMinute;
  // A refresh has a few rows.
  const fresh = Math.round((costOf(longLimit, 1, 1) * perMinute * periodMs) / minuteMs);
  const long = { unit, amount, periodMs, left: Math.max(0, amount - used), fresh };
  return { ...estimated, ...rest, cost: costOf(longLimit, requests, points), unit, long };
}

function costOf({ bytesEach, rowBytes = 0 }: Limit, requests: number, points: number): number {
  return requests + (bytesEach === undefined ? 0 : Math.ceil((points * rowBytes) / bytesEach));
}

function shortestOf(planned: readonly PlannedSeries[]): Interval | null {
  const followed = planned
    .filter(({ isFollowed }) => isFollowed)
    .map(({ series }): Interval => series.interval);
  return followed.sort((a, b) => intervalMs[a] - intervalMs[b])[0] ?? null;
}
