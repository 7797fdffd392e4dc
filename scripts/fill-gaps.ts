/**
 * Works until none of a range is missing.
 *
 *   looking    Reads the gaps. None that can be asked for now, and none of their windows queued: *ended*.
 *   joining    Workers and a scheduler run elsewhere: they find the gaps themselves, this only watches.
 *   working    Where one of them is absent, this process runs it, for these series only.
 *   ended      Complete, but for what answered empty and awaits its second answer; or something failed, or Ctrl-C. The
 *              rollups agree with what came, and what this process queued and nobody has started is taken out of the
 *              queue.
 *
 * A crash leaves nothing to mend: what is left to do is in the database.
 */

import { type EpochMs, minuteMs, nextPeriodStart, periodStart } from '../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { closedUpTo } from '../planning/closed.ts';
import { clip, lengthMs, overlaps, type Range } from '../planning/ranges.ts';
import { longestRange } from '../planning/windows.ts';
import { type Gap, listGaps } from '../store/gaps.ts';
import { type FetchTally, fetchesSince, standingNotice, tallyFetches } from '../store/ledger.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { rangesBehind } from '../store/rollups.ts';
import { type SeriesStatus, seriesStatus } from '../store/status.ts';
import { explain } from './gaps.ts';
import { MissingParts } from './missing-parts.ts';
import { awayText, explainQueueError, lookUntilDone } from './patience.ts';
import type { BackfillProgress } from './progress.ts';
import { bringRollupsUpToDate, type RollupsOutcome } from './rollups-up-to-date.ts';
import type { Portion } from './series-groups.ts';
import type { Session } from './session.ts';
import { isHeldOff } from './time-left.ts';
import { isWorkable, windowsLeft } from './windows-left.ts';
import { moment } from './wording.ts';

export interface BackfillRequest {
  readonly seriesIds: readonly number[];
  readonly fromMs: EpochMs;
  /** Null: up to the last period that has closed now. */
  readonly toMs: EpochMs | null;
  readonly signal: AbortSignal;
  readonly progress: BackfillProgress;
}

export interface BackfillOutcome {
  readonly requests: number;
  /** Points that were not stored before. */
  readonly points: number;
  readonly durationMs: number;
  /** Ranges that answered empty and await their second answer. */
  readonly awaiting: number;
  readonly windowsLeft: number;
  /** Names of the series whose whole range the source confirmed to be empty, and that hold no point from elsewhere. */
  readonly withoutPoints: readonly string[];
  readonly rollups: RollupsOutcome;
  readonly interrupted: boolean;
}

/** Requests that fail before the first that succeeds, after which the source itself is taken to be wrong. */
const hopelessAfter = 4;

/**
 * @throws TidemarkError GAPS_REMAIN when windows are out of attempts; SOURCE_UNREACHABLE,
 * SOURCE_NOT_A_MARKET_DATA_SERVICE, SOURCE_REFUSED, SOURCE_NOTICE or UNKNOWN_AT_SOURCE when the source cannot give the
 * series.
 */
export async function fillGaps(session: Session, request: BackfillRequest): Promise<BackfillOutcome> {
  const { database, config } = session;
  const startedMs = Date.now();
  const bounds = await boundsOf(session, request, startedMs);
  const parts = new MissingParts(session, bounds.ranges);
  let wanted: ReadonlyMap<number, number> | undefined;
  const requestsOfLastMinute = lastMinuteOf(database);

  async function look(): Promise<BackfillOutcome | null> {
    session.assertRoom();
    const queues = await parts.ensure(wanted !== undefined);
    // Claims before gaps: a window that ends in between is then still claimed, and not taken for forgotten.
    const claimed = await queues.requests
      .claimedWindows()
      .catch((error: unknown) => explainQueueError(error, queues.kind));
    const nowMs = Date.now();
    const gaps = await missingWithin(session, bounds, nowMs);
    wanted ??= lengths(gaps);
    const accepted = await longestRanges(database);
    const longestRangeMs = (series: SeriesKey) => longestRange(series, config.source.rangeLimits, accepted);
    const left = remaining(gaps, wanted, bounds, windowsLeft(gaps, nowMs, longestRangeMs));
    const pausedMs = await queues.requests.pausedForMs();
    const tally = await tallyFetches(database, { sinceMs: startedMs, seriesIds: request.seriesIds });
    request.progress.update({
      series: left,
      points: tally.fresh,
      lastMinute: await requestsOfLastMinute(),
      perMinute: config.source.requestsPerMinute,
      failures: tally.failures,
      pausedMs,
    });
    const windows = left.reduce((sum, entry) => sum + entry.windowsLeft, 0);
    const outcome = () => outcomeOf(tally, startedMs, gaps, windows);
    if (request.signal.aborted) return { ...outcome(), interrupted: true };
    await refuseNotice(session, { startedMs, pausedMs });
    refuseHopelessSource(tally);
    const queued = gaps.some((gap) =>
      claimed.windows.get(gap.seriesId)?.some((window) => overlaps(window, gap)),
    );
    if (queued || gaps.some((gap) => isWorkable(gap, nowMs))) return null;
    if ((await rangesBehind(database)).length > 0) request.progress.say('refreshing the rollups');
    const rollups = await bringRollupsUpToDate(database, request.signal);
    if (rollups === 'stopped') return { ...outcome(), rollups, interrupted: true };
    await refuseWhatIsMissing(session, gaps, request.seriesIds);
    return { ...outcome(), rollups, withoutPoints: await withoutPoints(session, request.seriesIds) };
  }

  try {
    return await lookUntilDone(look, request.signal, (error) => request.progress.say(awayText(error)));
  } finally {
    request.progress.stop();
    await parts.close();
  }
}

interface Bounds {
  readonly series: ReadonlyMap<number, SeriesStatus>;
  readonly ranges: ReadonlyMap<number, Range>;
}

/**
 * The range of each series that this backfill answers for: whole periods, as they are tracked, that have closed by now.
 */
async function boundsOf(session: Session, request: BackfillRequest, nowMs: EpochMs): Promise<Bounds> {
  const { graceMs } = session.config.worker;
  const rows = await seriesStatus(session.database, { nowMs, graceMs, seriesIds: request.seriesIds });
  const ranges = rows.map((row): [number, Range] => {
    const closedMs = closedUpTo(row.series, nowMs, graceMs);
    const { interval } = row.series;
    const toMs = request.toMs === null ? closedMs : nextPeriodStart(request.toMs, interval);
    return [
      row.seriesId,
      { startMs: periodStart(request.fromMs, interval), endMs: Math.min(toMs, closedMs) },
    ];
  });
  return { series: new Map(rows.map((row) => [row.seriesId, row])), ranges: new Map(ranges) };
}

async function missingWithin(session: Session, bounds: Bounds, nowMs: EpochMs): Promise<Gap[]> {
  const { graceMs } = session.config.worker;
  const all = await listGaps(session.database, { nowMs, graceMs, seriesIds: [...bounds.ranges.keys()] });
  return all.flatMap((gap) => {
    const range = bounds.ranges.get(gap.seriesId);
    return range === undefined ? [] : clip([gap], range).map((piece) => ({ ...gap, ...piece }));
  });
}

function lengths(gaps: readonly Gap[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const gap of gaps) sums.set(gap.seriesId, (sums.get(gap.seriesId) ?? 0) + lengthMs([gap]));
  return sums;
}

function remaining(
  gaps: readonly Gap[],
  wanted: ReadonlyMap<number, number>,
  bounds: Bounds,
  windows: ReadonlyMap<number, number>,
): Portion[] {
  const missing = lengths(gaps);
  return [...bounds.series.values()].map(({ seriesId, series }) => {
    const wantedMs = wanted.get(seriesId) ?? 0;
    const doneMs = Math.max(0, wantedMs - (missing.get(seriesId) ?? 0));
    return { series, wantedMs, doneMs, windowsLeft: windows.get(seriesId) ?? 0 };
  });
}

/** Requests of all lanes and processes, counted once a second: a source without a limit makes many of them. */
function lastMinuteOf(database: Session['database']): () => Promise<number> {
  let requests = 0;
  let nextMs = 0;
  return async () => {
    const nowMs = Date.now();
    if (nowMs >= nextMs) {
      const lanes = await fetchesSince(database, nowMs - minuteMs);
      requests = Object.values(lanes).reduce((sum, lane) => sum + lane, 0);
      nextMs = nowMs + 1000;
    }
    return requests;
  };
}

function outcomeOf(
  tally: FetchTally,
  startedMs: EpochMs,
  gaps: readonly Gap[],
  windows: number,
): BackfillOutcome {
  return {
    requests: tally.requests,
    points: tally.fresh,
    durationMs: Date.now() - startedMs,
    awaiting: gaps.filter((gap) => gap.reason === 'awaits_second_answer').length,
    windowsLeft: windows,
    withoutPoints: [],
    rollups: 'current',
    interrupted: false,
  };
}

/** A source may answer a name that it does not know with an empty list, time after time. */
async function withoutPoints(session: Session, seriesIds: readonly number[]): Promise<string[]> {
  const { graceMs } = session.config.worker;
  const rows = await seriesStatus(session.database, { nowMs: Date.now(), graceMs, seriesIds });
  return rows
    .filter((row) => row.points === 0 && row.confirmedEmptyMs > 0)
    .map((row) => seriesName(row.series));
}

/** @throws TidemarkError when the source says something in place of data, now or before the pause that still holds. */
export async function refuseNotice(
  session: Session,
  { startedMs, pausedMs }: { startedMs: EpochMs; pausedMs: number },
): Promise<void> {
  const notice = await standingNotice(session.database, Date.now());
  if (notice === null || (notice.timeMs < startedMs && !isHeldOff(pausedMs))) return;
  const nowMs = Date.now();
  const when =
    notice.timeMs < startedMs
      ? `, said ${moment(notice.timeMs)}; the workers that run ask again ${moment(nowMs + pausedMs)}`
      : '';
  throw new TidemarkError('SOURCE_NOTICE', `${notice.message}${when}`);
}

/** @throws TidemarkError when every request so far failed: nothing will come of the thousands that would follow. */
export function refuseHopelessSource(tally: FetchTally): void {
  const last = tally.lastFailure;
  if (last === null) return;
  // A key that expired while others waited: every request is refused from then on.
  if (last.kind === 'unauthorized' && tally.endsInFailure)
    throw new TidemarkError('SOURCE_REFUSED', last.message);
  if (tally.succeeded > 0 || tally.failed < hopelessAfter) return;
  const failedMostlyBy = (...kinds: string[]) =>
    2 * kinds.reduce((sum, kind) => sum + (tally.failures[kind] ?? 0), 0) > tally.failed;
  // A 404 without the interface's JSON: what answers there knows none of the interface's paths.
  if (failedMostlyBy('unexpected', 'not_found')) {
    throw new TidemarkError('SOURCE_NOT_A_MARKET_DATA_SERVICE', last.message);
  }
  if (failedMostlyBy('unreachable', 'timeout')) throw new TidemarkError('SOURCE_UNREACHABLE', last.message);
}

/** @throws TidemarkError unless what is missing only awaits a second answer. */
async function refuseWhatIsMissing(
  session: Session,
  gaps: readonly Gap[],
  seriesIds: readonly number[],
): Promise<void> {
  const blocked = gaps.find((gap) => gap.reason === 'blocked');
  if (blocked !== undefined) {
    throw new TidemarkError('UNKNOWN_AT_SOURCE', `${seriesName(blocked.series)}: ${blocked.message}`);
  }
  const failed = gaps.filter((gap) => gap.reason !== 'awaits_second_answer');
  const [first] = failed;
  if (first !== undefined) {
    throw new TidemarkError(
      'GAPS_REMAIN',
      `${failed.length} of the ranges asked for are missing, first ${seriesName(first.series)} ${moment(first.startMs)} to ${moment(first.endMs)}: ${explain(first)}`,
    );
  }
  if (gaps.length === 0) return;
  const { graceMs } = session.config.worker;
  const rows = await seriesStatus(session.database, { nowMs: Date.now(), graceMs, seriesIds });
  const nothing = rows.find((row) => row.points === 0 && gaps.some((gap) => gap.seriesId === row.seriesId));
  if (nothing !== undefined) {
    const again = gaps.find((gap) => gap.seriesId === nothing.seriesId)?.retryAtMs ?? null;
    throw new TidemarkError(
      'UNKNOWN_AT_SOURCE',
      `${seriesName(nothing.series)}: no point came of the whole range, which awaits a second answer${again === null ? '' : ` at ${moment(again)}`}`,
      {
        remedy:
          'check the ids; if they are right, run the same command again then: sources in trouble answer so too',
      },
    );
  }
}
