/**
 * Turns gaps into windows, in the order of their requests.
 *
 * The newest gap of every series comes first, as one request however long it is. Earlier gaps are cut into windows from
 * the oldest end, since a source may stop serving old data, and taken round-robin over series. Of a long gap with no
 * stored point before it only the oldest window is requested until the beginning is known (beginning.ts). Plans are not
 * kept: each pass produces as many windows as the queue has slots.
 */

import { type EpochMs, intervalMs } from '../model/intervals.ts';
import { lanes, type WindowLane } from '../model/lanes.ts';
import { countFiles, fileOf, windowsByFile } from '../model/months.ts';
import { cut, overlaps, type Range, subtract } from '../model/ranges.ts';
import { requestsFor } from '../model/request-range.ts';
import type { SeriesKey } from '../model/series.ts';
import type { ArchiveFiles } from '../model/sources.ts';
import {
  asksAlone,
  asksDays,
  asksFile,
  asksNewest,
  refreshedPeriods,
  type Window,
  withWitnesses,
} from '../model/window.ts';
import { type Beginning, type HeldBack, holdBack, mayBeProbed, probedSeries } from './beginning.ts';
import type { FreeSlots } from './budget.ts';
import { newestEnd } from './periods.ts';

/** A series and its gaps, up to the last closed period. */
export interface SeriesGaps {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Sorted and disjoint. May be only the oldest ones and the newest one. */
  readonly gaps: readonly Range[];
  /** End of the last closed period. */
  readonly closedUpToMs: EpochMs;
  /** Start of the tracked range. */
  readonly trackedFromMs: EpochMs;
  /**
   * Time of the newest point within coverage. An open candle may be newer: a request that begins there proves nothing
   * of a silence that the candle ended.
   */
  readonly newestMs: EpochMs | null;
  /** Whether the tracked range has no end, so that the newest data is requested. */
  readonly reachesNow: boolean;
  /** Whether the open candle is due for a refresh although no closed period is missing. */
  readonly refreshDue: boolean;
  /** Ranges whose last answer had no point of their own; absent: none. */
  readonly silent?: readonly Range[];
  /** Absent: the beginning is not searched for. */
  readonly beginning?: Beginning;
}

export interface PlanRules {
  readonly nowMs: EpochMs;
  readonly graceMs: number;
  /** Longest range of one request of a series, milliseconds. */
  readonly longestRangeMs: (series: SeriesKey) => number;
  /** Of an archive, whose windows are those of its files; null or absent: cuts by the longest range. */
  readonly files?: ArchiveFiles | null | undefined;
  /** Closed periods that each refresh reads again; default {@link refreshedPeriods}. */
  readonly rereadPeriods?: number | undefined;
}

export interface PlanInput extends PlanRules {
  /** The source that is asked. */
  readonly source: string;
  readonly series: readonly SeriesGaps[];
  /** Windows in the queue, by series. Read them before the gaps, or a finished window looks missing. */
  readonly claimed: ReadonlyMap<number, ReadonlyArray<Range & { readonly lane?: WindowLane }>>;
  readonly slots: FreeSlots;
  /** Slots that backfill leaves to rereads and pages; default 0. */
  readonly reservedSlots?: number | undefined;
  /** Last series id of the previous pass, where the round-robin continues. */
  readonly cursor: number;
}

export interface Plan {
  readonly windows: Window[];
  readonly cursor: number;
}

/** Plans one pass: at most `slots.total` windows, refreshes first. */
export function planWindows(input: PlanInput): Plan {
  const inTurn = [...input.series].sort((a, b) => turn(a, input.cursor) - turn(b, input.cursor));
  const refreshes: Window[] = [];
  const pending: Iterator<Window>[] = [];

  for (const series of inTurn) {
    const spanMs = input.longestRangeMs(series.series);
    // A reread of covered ranges fills no gap, and does not delay a refresh.
    const filling = (input.claimed.get(series.seriesId) ?? []).filter(
      ({ lane }) => lane === undefined || !lanes[lane].rereads,
    );
    // A probe requests days. The windows of its range remain to be requested.
    const claimed = filling.filter(({ lane }) => lane !== 'probe');
    const tail = tailOf(series, spanMs, input);
    const free = subtract(series.gaps, tail === null ? claimed : [...claimed, tail]);
    // If a part of the newest gap is queued, the rest is requested after that.
    if (tail !== null && !claimed.some((window) => overlaps(window, tail))) {
      refreshes.push({ ...ofSeries(series, input), ...tail, lane: 'refresh' });
    }
    const held = holdBack({
      gaps: series.gaps,
      free,
      beginning: mayBeProbed(series.series) ? series.beginning : undefined,
      claimed: filling,
      spanMs,
      probeSpanMs: input.longestRangeMs(probedSeries(series.series)),
    });
    if (held.ahead !== null || held.open.length > 0) pending.push(planned(held, spanMs, series, input));
  }

  // The series that is furthest behind comes first, so that a small budget is shared.
  refreshes.sort((a, b) => a.startMs - b.startMs);
  const refreshLimit = pending.length > 0 ? input.slots.refresh : input.slots.total;
  const windows = refreshes.slice(0, refreshLimit);
  const backfills = takeInTurn(pending, input.slots.total - windows.length - (input.reservedSlots ?? 0));
  windows.push(...backfills);
  return { windows, cursor: (backfills.at(-1) ?? windows.at(-1))?.seriesId ?? input.cursor };
}

/**
 * Number of the windows of a series if none is queued and every range brings points. They are not made for it: years of
 * minutes are thousands.
 */
export function countWindows(series: SeriesGaps, input: PlanRules): number {
  const spanMs = input.longestRangeMs(series.series);
  const tail = tailOf(series, spanMs, input);
  const { files } = input;
  return (tail === null ? series.gaps : subtract(series.gaps, [tail])).reduce(
    (sum, range) => sum + (files == null ? requestsFor(range, spanMs) : countFiles(range, files)),
    tail === null ? 0 : 1,
  );
}

/** Position in the round that starts after the cursor. Series ids are 32-bit. */
function turn(series: SeriesGaps, cursor: number): number {
  return series.seriesId > cursor ? series.seriesId - cursor : series.seriesId - cursor + 2 ** 32;
}

/**
 * The newest range of a series for one request, if it is due. It reaches back to the newest stored point and over the
 * last closed periods: a quiet minute of a thin market then is a hole between points instead of an empty answer, and
 * late changes are seen.
 */
function tailOf(series: SeriesGaps, spanMs: number, input: PlanRules): (Range & Pick<Window, 'asks'>) | null {
  if (!series.reachesNow) return null;
  const endMs = newestEnd(series.series, input.nowMs, input.graceMs);
  const newestGap = series.gaps.at(-1);
  const closedTail = newestGap?.endMs === series.closedUpToMs ? newestGap.startMs : null;
  const wantedFromMs = closedTail ?? (series.refreshDue ? series.closedUpToMs : null);
  if (wantedFromMs === null || wantedFromMs >= endMs) return null;
  const reachMs = (input.rereadPeriods ?? refreshedPeriods) * intervalMs[series.series.interval];
  // A range without a point of its own is requested alone, as below: points before it prove nothing.
  const isSilent = (series.silent ?? []).some((range) => startsIn(wantedFromMs, range));
  const backToMs =
    series.newestMs === null || isSilent ? wantedFromMs : Math.min(series.newestMs, wantedFromMs - reachMs);
  const startMs = Math.max(backToMs, series.trackedFromMs, endMs - spanMs);
  const tail = { startMs, endMs };
  return startMs < endMs ? { ...tail, ...(isSilent ? asksAlone(tail) : asksNewest(tail, series.series)) } : null;
}

function startsIn(timeMs: EpochMs, { startMs, endMs }: Range): boolean {
  return timeMs >= startMs && timeMs < endMs;
}

/** A range whose answer had no point of its own is requested without witnesses: a cap cannot make an answer empty. */
function* planned({ ahead, open }: HeldBack, spanMs: number, entry: SeriesGaps, input: PlanInput): Generator<Window> {
  const { files } = input;
  const series = ofSeries(entry, input);
  if (ahead !== null) yield { ...series, ...ahead, ...(ahead.lane === 'probe' ? asksDays : asksAlone)(ahead) };
  for (const range of open) {
    for (const piece of files == null ? cut(range, spanMs) : windowsByFile(range, files)) {
      const window = { ...series, ...piece, lane: 'backfill' as const };
      if (files != null) {
        yield asksFile(window, fileOf(piece, files));
        continue;
      }
      const isAlone = subtract([piece], entry.silent ?? []).length === 0;
      yield isAlone ? { ...window, ...asksAlone(piece) } : withWitnesses(window, spanMs);
    }
  }
}

function ofSeries({ seriesId, series }: SeriesGaps, { source }: PlanInput) {
  return { seriesId, series, source };
}

/** Takes the first of each, then the second of each, up to `count`. */
export function takeInTurn<Item>(sources: readonly Iterator<Item>[], count: number): Item[] {
  const taken: Item[] = [];
  let round = sources;
  while (round.length > 0 && taken.length < count) {
    const next: Iterator<Item>[] = [];
    for (const source of round) {
      if (taken.length >= count) break;
      const item = source.next();
      if (item.done) continue;
      taken.push(item.value);
      next.push(source);
    }
    round = next;
  }
  return taken;
}
