/** What remains of a backfill: the windows that are left, its outcome, and the reasons why gaps remain. */

import { TidemarkError } from '../../errors.ts';
import { counted, formatTime } from '../../model/format.ts';
import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import { clip, lengthMs, type Range } from '../../model/ranges.ts';
import { explainGap, reasons } from '../../model/reasons.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import type { Portion } from '../../planning/progress.ts';
import type { FetchTally } from '../../store/ledger/ledger-minutes.ts';
import type { Gap } from '../../store/series/gaps.ts';
import { type SeriesStatus, seriesStatus } from '../../store/status/status.ts';
import type { OperationContext } from '../context.ts';
import type { RollupsOutcome } from '../refresh-rollups.ts';
import { countEach, type DivideGaps, divideWorkable, requestsOf } from '../source-gaps.ts';

/** A deferred window that is due within this time is awaited. */
const soonMs = 2 * minuteMs;
/** A window that is deferred for longer than this is not awaited: its error is permanent. */
const longestDeferralMs = 3 * minuteMs;

/**
 * Whether to wait for a deferred gap, as after many errors or while the source lags by a minute.
 *
 * @param untilSecondAnswer waits for a second answer, however long it takes.
 */
export function isAwaited(gap: Gap, nowMs: EpochMs, untilSecondAnswer: boolean): boolean {
  const { reason, retryAtMs, sinceMs } = gap;
  if (reason === 'blocked' || retryAtMs === null || sinceMs === null) return false;
  if (reason === 'awaits_second_answer') return untilSecondAnswer || retryAtMs - nowMs <= soonMs;
  return retryAtMs - nowMs <= soonMs && nowMs - sinceMs < longestDeferralMs;
}

/** Counts the windows per series that can be requested now. */
export function windowsLeft(gaps: readonly Gap[], nowMs: EpochMs, divide: DivideGaps): ReadonlyMap<number, number> {
  return countEach(divideWorkable(gaps, nowMs, divide));
}

/** Milliseconds. */
function lengthsBySeries(gaps: readonly Gap[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const gap of gaps) sums.set(gap.seriesId, (sums.get(gap.seriesId) ?? 0) + lengthMs([gap]));
  return sums;
}

/** A part of a tracked series. */
export interface AskedPart {
  readonly series: SeriesKey;
  readonly wantedMs: number;
  /** Of the whole part. */
  readonly requests: number;
}

/** The parts of series within ranges. */
export function partsWithin(
  rows: Iterable<Pick<SeriesStatus, 'seriesId' | 'series' | 'wantedMs' | 'askedFromMs' | 'askedToMs'>>,
  ranges: ReadonlyMap<number, Range>,
  divide: DivideGaps,
): ReadonlyMap<number, AskedPart> {
  const parts = new Map<number, AskedPart>();
  for (const row of rows) {
    const { seriesId, series, askedToMs: endMs } = row;
    const range = ranges.get(seriesId);
    if (range === undefined) continue;
    const wanted = endMs === null ? [] : clip([{ startMs: endMs - row.wantedMs, endMs }], range);
    parts.set(seriesId, { series, wantedMs: lengthMs(wanted), requests: requestsOf(row, divide, range) });
  }
  return parts;
}

/** The progress of each series. Ranges that cannot be requested are not part of it: the outcome names them. */
export function portionsOf(
  gaps: readonly Gap[],
  parts: ReadonlyMap<number, AskedPart>,
  windows: ReadonlyMap<number, number>,
): Portion[] {
  const lost = lengthsBySeries(gaps.filter(({ cause }) => !reasons[cause].isRequestable));
  const missing = lengthsBySeries(gaps.filter(({ cause }) => reasons[cause].isRequestable));
  return [...parts].map(([seriesId, { series, requests, ...part }]) => {
    const wantedMs = Math.max(0, part.wantedMs - (lost.get(seriesId) ?? 0));
    const doneMs = Math.max(0, wantedMs - (missing.get(seriesId) ?? 0));
    return { series, wantedMs, doneMs, left: windows.get(seriesId) ?? 0, requests };
  });
}

export interface BackfillOutcome {
  readonly requests: number;
  /** New points. */
  readonly points: number;
  readonly durationMs: number;
  /** Missing ranges that do not await a second answer. */
  readonly missing: number;
  /** Empty ranges that await a second answer, and the last time at which one is requested again. */
  readonly awaiting: number;
  readonly awaitingUntilMs: EpochMs | null;
  /** Ranges that one empty answer confirmed, with `acceptEmpty`. */
  readonly accepted: number;
  /** Rejected rows of periods without a stored point. */
  readonly rejected: number;
  /** Reason of one of them, such as the newest; null: none is rejected. */
  readonly rejectedFor: string | null;
  readonly windowsLeft: number;
  /** Names of series whose range is confirmed empty and that have no point at all. */
  readonly withoutPoints: readonly string[];
  readonly rollups: RollupsOutcome;
  readonly interrupted: boolean;
  /** Why ranges are missing; null: none is. Rejected rows do not count. */
  readonly refusal: TidemarkError | null;
}

export function outcomeOf(
  tally: FetchTally,
  at: { readonly startedMs: EpochMs; readonly nowMs: EpochMs },
  gaps: readonly Gap[],
  windows: number,
): BackfillOutcome {
  const awaiting = gaps.filter((gap) => gap.reason === 'awaits_second_answer');
  return {
    requests: tally.requests,
    points: tally.fresh,
    durationMs: at.nowMs - at.startedMs,
    missing: gaps.length - awaiting.length,
    awaiting: awaiting.length,
    awaitingUntilMs: awaiting.length === 0 ? null : Math.max(...awaiting.map((gap) => gap.retryAtMs ?? 0)),
    accepted: 0,
    rejected: 0,
    rejectedFor: null,
    windowsLeft: windows,
    withoutPoints: [],
    rollups: 'current',
    interrupted: false,
    refusal: null,
  };
}

/** A source may answer an unknown name with an empty list. */
export async function withoutPoints(context: OperationContext, seriesIds: readonly number[]): Promise<string[]> {
  const { graceMs } = context.config.worker;
  const rows = await seriesStatus(context.database, { nowMs: context.clock.now(), graceMs, seriesIds });
  return rows.filter((row) => row.points === 0 && row.confirmedEmptyMs > 0).map((row) => seriesName(row.series));
}

/** Said when a wait begins: minutes without a word look as if it hung. */
export function deferredText(gaps: readonly Gap[], nowMs: EpochMs): string {
  const dueMs = Math.max(...gaps.map((gap) => gap.retryAtMs ?? 0));
  const [first] = gaps;
  const why = first === undefined ? '' : `, the first: ${gapText(first, nowMs)}`;
  return `waiting until ${formatTime(Math.ceil(dueMs / 1000) * 1000)} for ${counted(gaps.length, 'range')}${why}`;
}

function gapText(gap: Gap, nowMs: EpochMs): string {
  return (
    `${seriesName(gap.series)} ${formatTime(gap.startMs)} to ${formatTime(gap.endMs)}: ` +
    `${explainGap(gap, { nowMs, hold: null })}`
  );
}

/** @returns null: nothing is missing. */
export async function refusalOf(
  context: OperationContext,
  gaps: readonly Gap[],
  { seriesIds, newIds = [] }: { readonly seriesIds: readonly number[]; readonly newIds?: readonly number[] },
): Promise<TidemarkError | null> {
  const [blocked, ...more] = new Map(
    gaps.filter((gap) => gap.reason === 'blocked').map((gap) => [gap.seriesId, gap]),
  ).values();
  if (blocked !== undefined) {
    const others = more.length === 0 ? '' : ` (and ${more.length} other series)`;
    const tracked = newIds.includes(blocked.seriesId)
      ? 'nothing of it is tracked'
      : '`tidemark untrack` ends the tracking of a wrong one, or correct tidemark.yaml';
    return new TidemarkError('UNKNOWN_AT_SOURCE', `${seriesName(blocked.series)}${others}: ${blocked.message}`, {
      remedy: `check the ids (they are lower-case words, such as bitcoin); ${tracked}`,
    });
  }
  const failed = gaps.filter((gap) => gap.reason !== 'awaits_second_answer');
  const [first] = failed;
  if (first !== undefined)
    return new TidemarkError(
      'GAPS_REMAIN',
      `${counted(failed.length, 'requested range')} missing, first ${gapText(first, context.clock.now())}`,
      remedyFor(failed),
    );
  const [awaiting] = gaps;
  if (awaiting === undefined) return null;
  const { graceMs } = context.config.worker;
  const rows = await seriesStatus(context.database, { nowMs: context.clock.now(), graceMs, seriesIds });
  const nothing = rows.find((row) => row.points === 0 && gaps.some((gap) => gap.seriesId === row.seriesId));
  if (nothing === undefined)
    return new TidemarkError(
      'AWAITS_SECOND_ANSWER',
      `${counted(gaps.length, 'range')} came back empty, first ${gapText(awaiting, context.clock.now())}`,
    );
  const again = gaps.find((gap) => gap.seriesId === nothing.seriesId)?.retryAtMs ?? null;
  return new TidemarkError(
    'UNKNOWN_AT_SOURCE',
    `${seriesName(nothing.series)}: the whole range came back empty, and is asked again` +
      `${again === null ? '' : ` at ${formatTime(again)}`} to be sure`,
    {
      remedy:
        'check the ids; if they are right, run the same command again then, or with --wait: a failing source may ' +
        'answer empty too',
    },
  );
}

function remedyFor(gaps: readonly Gap[]): { readonly remedy?: string } {
  if (gaps.every(({ cause }) => cause === 'beyond_depth'))
    return {
      remedy:
        'begin later (a tracked series by `untrack` and `track`), or import files of that time (docs/import.md): ' +
        'running it again cannot fill what the source no longer has',
    };
  if (gaps.every(({ cause }) => cause === 'not_published'))
    return { remedy: 'run it again when the archive has the file, or name a source after it' };
  return {};
}
