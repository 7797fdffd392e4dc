/** The part of each source in an estimate: in its own unit, beside its limits and its depth. */

import { type EpochMs, intervalMs, minuteMs } from '../model/intervals.ts';
import { lengthMs, normalize } from '../model/ranges.ts';
import { type SeriesKey, seriesName } from '../model/series.ts';
import { costOfWindow, type Depth, type Limit, offerOf } from '../model/sources.ts';
import { expectedCost } from '../planning/budget.ts';
import { type Estimate, type EstimateRules, estimate, type PlannedSeries } from '../planning/estimate.ts';
import { requestsOfWindow } from '../sources/profiles/profile.ts';
import { readUse } from '../store/ledger/ledger.ts';
import type { OperationContext } from './context.ts';
import type { AskedSource, readGapDivision } from './source-gaps.ts';

export interface SourceCost extends Estimate {
  readonly source: string;
  /** Wanted series that it gives a part of. */
  readonly series: number;
  /** In `unit`. */
  readonly cost: number;
  readonly unit: Limit['unit'];
  readonly requestsPerMinute: number;
  /** What it keeps of a series; null: all. */
  readonly depth: Depth | null;
  /** Followed series that it alone keeps, and not for ever: those that no archive has. The shortest interval first. */
  readonly atRisk: readonly SeriesKey[];
  /** Missing ranges of wanted series that are older than it keeps, milliseconds. */
  readonly lostMs: number;
  /** Missing ranges of wanted series that it alone gives, and has no file of yet, milliseconds. */
  readonly unpublishedMs: number;
  /** Its limit of a long period, such as the credits of a month; null: it has none. */
  readonly long: LongCost | null;
}

interface LongCost extends Pick<Limit, 'unit' | 'amount' | 'periodMs'> {
  readonly left: number;
  /** What staying fresh costs in a period. */
  readonly fresh: number;
}

/** A series of a plan, before it is divided among its sources. */
export interface WantedSeries extends Omit<PlannedSeries, 'requests'> {
  /** Whether its newest data is requested. */
  readonly reachesNow: boolean;
}

/** A part of the plan: what one source is to give. */
interface Part {
  readonly source: AskedSource;
  readonly planned: PlannedSeries[];
  /** Followed series that no archive has. */
  readonly unarchived: SeriesKey[];
  wanted: number;
  lostMs: number;
  unpublishedMs: number;
}

/** As {@link Part}, also of a source that is only compared with. */
type CostedPart = Readonly<Omit<Part, 'source'>> & { readonly source: Pick<AskedSource, 'setup'> };

/** The parts of the sources, and what no source is asked for. */
export interface DividedPlan {
  readonly parts: readonly Part[];
  /** By the name of the series. */
  readonly lost: ReadonlyMap<string, PlannedSeries['missing']>;
}

/**
 * Divides a plan among the sources of its series. The part of the default source is always there.
 *
 * @param beside followed series that share the budgets.
 */
export function dividePlan(
  { ofDefault, divide }: Awaited<ReturnType<typeof readGapDivision>>,
  wanted: readonly WantedSeries[],
  beside: readonly WantedSeries[],
): DividedPlan {
  const parts = new Map<AskedSource, Part>();
  const partOf = (source: AskedSource): Part => {
    const part = parts.get(source) ?? { source, planned: [], unarchived: [], wanted: 0, lostMs: 0, unpublishedMs: 0 };
    parts.set(source, part);
    return part;
  };
  partOf(ofDefault);
  const lost = new Map<string, PlannedSeries['missing']>();
  const add = (entry: WantedSeries, isWanted: boolean) => {
    const divided = divide(entry.series, entry.missing, entry.reachesNow);
    for (const { source, gaps: missing, windows } of divided.parts) {
      const isSourceLive = source === divided.live;
      const isOnlyArchive = divided.live === undefined && source === divided.parts[0]?.source;
      if (missing.length === 0 && !isSourceLive && !isOnlyArchive) continue;
      const part = partOf(source);
      const requests = windows * requestsOfWindow(source.setup.profile);
      part.planned.push({ ...entry, missing, requests, isFollowed: entry.isFollowed && isSourceLive });
      if (isWanted) part.wanted += 1;
      if (isOnlyArchive) part.unpublishedMs += lengthMs(divided.unpublished);
    }
    // Nobody is asked: no source of its list is configured, or all of them refuse it.
    if (divided.parts.length === 0) partOf(ofDefault).planned.push({ ...entry, requests: 0, isFollowed: false });
    if (divided.live !== undefined) {
      const part = partOf(divided.live);
      part.lostMs += lengthMs(divided.lost);
      if (entry.isFollowed && !divided.parts.some(({ source }) => hasFilesOf(source, entry.series)))
        part.unarchived.push(entry.series);
    }
    const unasked = normalize([...divided.lost, ...divided.unpublished]);
    if (unasked.length > 0) lost.set(seriesName(entry.series), unasked);
  };
  for (const entry of wanted) add(entry, true);
  for (const entry of beside) add(entry, false);
  return { parts: [...parts.values()], lost };
}

function hasFilesOf({ files, offers = [] }: AskedSource, { dataset, interval }: SeriesKey): boolean {
  return files != null && offerOf(offers, dataset)?.longestRangeMs[interval] !== undefined;
}

/** What the part of a source costs. */
export async function costOfPart(
  { database }: Pick<OperationContext, 'database'>,
  { source, planned, unarchived, wanted, lostMs, unpublishedMs }: CostedPart,
  rules: EstimateRules,
  nowMs: EpochMs,
): Promise<SourceCost> {
  const estimated = estimate(planned, rules);
  const { name, limits, longLimit, offers } = source.setup.facts;
  const each = costOfWindow(offers);
  const depthOf = ({ dataset }: SeriesKey) => offerOf(offers, dataset)?.depth ?? null;
  const { requests, points, freshness } = estimated;
  const rest = {
    source: name,
    series: wanted,
    requestsPerMinute: rules.requestsPerMinute,
    depth: planned.map(({ series }) => depthOf(series)).find((depth) => depth !== null) ?? null,
    lostMs,
    unpublishedMs,
    atRisk: unarchived
      .filter((series) => depthOf(series) !== null)
      .sort((a, b) => intervalMs[a.interval] - intervalMs[b.interval]),
  };
  const [first] = limits;
  if (longLimit === null)
    return { ...estimated, ...rest, cost: requests * each, unit: first?.unit ?? 'request', long: null };
  const { unit, amount, periodMs } = longLimit;
  const { used } = await readUse(database, name, longLimit, nowMs);
  const perMinute = freshness.refreshPerMinute + freshness.rereadPerMinute;
  // A refresh has a few rows.
  const fresh = Math.round((expectedCost(longLimit, 1) * perMinute * periodMs) / minuteMs);
  const long = { unit, amount, periodMs, left: Math.max(0, amount - used), fresh };
  return { ...estimated, ...rest, cost: expectedCost(longLimit, points, requests), unit, long };
}
