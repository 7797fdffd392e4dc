/**
 * Backfills as they are now. A process that was killed leaves its row as it was, and a scheduler goes on with what is
 * tracked: so the state of one that may go on follows from coverage, and from who is there to make its requests.
 */

import { aboutText, counted, nonEmpty } from '../../model/format.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { type BackfillKind, type BackfillState, isTracking, trackingLanes } from '../../model/lanes.ts';
import { clip } from '../../model/ranges.ts';
import { reasons } from '../../model/reasons.ts';
import { seriesName } from '../../model/series.ts';
import { sum } from '../../model/sum.ts';
import type { QueueFacts } from '../../planning/headline.ts';
import { type Answers, progressText, toGoText, waitingOf, waitingText } from '../../planning/progress.ts';
import {
  backfillEnds,
  type RecordedBackfill,
  recordedBackfills,
  type SeriesOfBackfill,
  seriesOfBackfills,
  settledText,
} from '../../store/ledger/backfills.ts';
import { ledgerMinutes, tallyFetches } from '../../store/ledger/ledger-minutes.ts';
import { type Gap, listGaps } from '../../store/series/gaps.ts';
import { type SeriesStatus, seriesStatus } from '../../store/status/status.ts';
import {
  countEach,
  type DivideGaps,
  divideWorkable,
  explainUnasked,
  type GapsContext,
  readGapDivision,
} from '../source-gaps.ts';
import { type HeldUp, readHeldUp } from '../source-health.ts';
import { type Demand, etaOfRanges, readDemand } from './eta.ts';
import { partsWithin, portionsOf } from './outcome.ts';

export interface Backfill {
  readonly id: number;
  readonly kind: BackfillKind;
  readonly askedMs: EpochMs;
  /** Who asked. */
  readonly by: string;
  readonly state: BackfillState;
  /** Names; of all but one backfill the first alone. */
  readonly names: readonly string[];
  /** The number of its series. */
  readonly series: number;
  /** Null: of no series. */
  readonly fromMs: EpochMs | null;
  readonly toMs: EpochMs | null;
  /** How far it is, as `status` says it; null: it has ended, or nobody can go on with it. */
  readonly progress: string | null;
  readonly left: number | null;
  readonly etaMs: number | null;
  /** How it ended; null: it has not. */
  readonly result: string | null;
  readonly endedMs: EpochMs | null;
  /** Of the requests for its ranges since then; null: not counted. */
  readonly answers: Answers | null;
}

interface Facts {
  readonly nowMs: EpochMs;
  readonly queue: QueueFacts | null;
  /** Null: the queue does not answer, or nothing goes on. */
  readonly demand: Demand | null;
  readonly divide: DivideGaps;
  readonly gaps: readonly Gap[];
  readonly rows: readonly SeriesStatus[];
  readonly heldUp: Awaited<ReturnType<typeof readHeldUp>>;
}

/** Rows of the ledger are counted for so many that go on. */
const counting = 20;

const isOpen = ({ state }: Pick<Backfill, 'state'>) => ['running', 'waiting', 'paused'].includes(state);

/** @param queue null: it does not answer. @param of.id null: all. */
export async function listBackfills(
  context: GapsContext,
  queue: QueueFacts | null,
  of: { readonly nowMs: EpochMs; readonly id: number | null; readonly most: number },
): Promise<Backfill[]> {
  const { database, config } = context;
  const { nowMs, id, most } = of;
  const recorded = await recordedBackfills.on(database.pool, { id, most });
  const ids = recorded.map((one) => one.id);
  const seriesOf = new Map<number, SeriesOfBackfill[]>(ids.map((one) => [one, []]));
  for (const one of await seriesOfBackfills.on(database.pool, { ids })) seriesOf.get(one.backfillId)?.push(one);
  const open = recorded.filter(({ kind, endedMs }) => endedMs === null && isTracking(kind));
  const seriesIds = [...new Set(open.flatMap((one) => (seriesOf.get(one.id) ?? []).map(({ seriesId }) => seriesId)))];
  const query = { nowMs, graceMs: config.worker.graceMs, seriesIds };
  const { divide } = await readGapDivision(context, nowMs);
  const isNone = queue === null || open.length === 0;
  const facts: Facts = {
    ...{ nowMs, queue, divide },
    demand: isNone ? null : await readDemand(context, queue, { nowMs, divide }),
    gaps: seriesIds.length === 0 ? [] : explainUnasked(await listGaps(database, query), divide),
    rows: seriesIds.length === 0 ? [] : await seriesStatus(database, query),
    heldUp: await readHeldUp(context, seriesIds, { queue, nowMs }),
  };
  const found: Backfill[] = [];
  for (const one of recorded) {
    const series = seriesOf.get(one.id) ?? [];
    const backfill = describe(one, series, facts);
    const isCounted = id !== null || (isOpen(backfill) && found.length < counting);
    const names = (id === null ? series.slice(0, 1) : series).map((each) => seriesName(each.series));
    found.push({ ...backfill, names, answers: isCounted ? await answersOf(context, one, series) : null });
  }
  return found;
}

function describe(
  { fromMs, toMs, isAlive, ...one }: RecordedBackfill,
  series: readonly SeriesOfBackfill[],
  facts: Facts,
): Omit<Backfill, 'names' | 'answers'> {
  const { id, kind, askedMs, by, result, endedMs } = one;
  const base = { id, kind, askedMs, by, series: one.series, fromMs, toMs, result, endedMs };
  const over = { ...base, progress: null, left: null, etaMs: null };
  if (endedMs !== null) return { ...over, state: one.state };
  if (!isTracking(kind)) {
    if (!isAlive) return { ...over, state: 'interrupted', result: result ?? 'its process has ended' };
    const held = facts.heldUp.all;
    if (one.progress === null)
      return { ...base, ...runningText('no window is answered yet', held), left: null, etaMs: null };
    const { done, of } = one.progress;
    const etaMs = of === done || held !== null ? null : one.progress.etaMs;
    // A window may take several requests.
    const text = nonEmpty([toGoText(of - done, of, 'window'), etaMs === null ? '' : aboutText(etaMs)]).join(', ');
    return { ...base, ...runningText(text, held), left: of - done, etaMs };
  }
  const ranges = new Map(series.map(({ seriesId, range }) => [seriesId, range]));
  const gaps = facts.gaps.flatMap((gap) => {
    const range = ranges.get(gap.seriesId);
    return range === undefined ? [] : clip([gap], range).map((piece) => ({ ...gap, ...piece }));
  });
  const unended = one.state === 'running' ? 'interrupted' : one.state;
  // Of one that is not covered nothing is missing while its newest period has not closed.
  const mayGoOn = gaps.length === 0 || gaps.some(({ cause }) => reasons[cause].isRequestable);
  if (!isAlive) {
    if (series.length > 0 && series.every(({ isCovered }) => isCovered))
      return { ...over, state: 'done', result: backfillEnds.covered };
    if (series.every(({ isTracked }) => !isTracked)) {
      const refusal = series.find((of) => of.refusal !== null)?.refusal ?? null;
      const state = one.state === 'running' && refusal !== null ? 'failed' : unended;
      return { ...over, state, result: result ?? refusal ?? backfillEnds.untracked };
    }
    if (series.every(({ isSettled }) => isSettled)) {
      const unknown = series.filter(({ refusal }) => refusal !== null).map((of) => seriesName(of.series));
      return { ...over, state: 'done', result: settledText(unknown) };
    }
    if (!mayGoOn && one.state !== 'failed')
      return {
        ...over,
        state: 'done',
        result: `complete but for ${counted(gaps.length, 'range')} that no source gives`,
      };
    if (!mayGoOn) return { ...over, state: one.state };
  }
  const divided = divideWorkable(gaps, facts.nowMs, facts.divide);
  const portions = portionsOf(gaps, partsWithin(facts.rows, ranges, facts.divide), countEach(divided));
  const left = sum(portions.map((portion) => portion.left));
  // Whether a scheduler is there is not known while the queue does not answer.
  const isMade = isAlive || facts.queue === null || facts.queue.schedulers > 0;
  const { demand } = facts;
  const etaMs = demand === null || !isMade || left === 0 ? null : etaOfRanges({ id, ranges }, demand);
  const extent = {
    requests: sum(portions.map((portion) => portion.requests)),
    wantedMs: sum(portions.map((portion) => portion.wantedMs)),
    coveredMs: sum(portions.map((portion) => portion.doneMs)),
  };
  const waiting = waitingOf(gaps, facts.nowMs);
  const isWaiting = left === 0 && waiting.length > 0;
  const progress = isWaiting ? waitingText(extent, waiting) : progressText({ ...extent, left, etaMs });
  if (isMade && isWaiting) return { ...base, state: 'waiting', progress, left, etaMs, result: null };
  const heldUp = left === 0 ? null : facts.heldUp.of([...divided.keys()]);
  if (isMade) return { ...base, ...runningText(progress, heldUp), left, etaMs, result: null };
  return { ...base, state: unended, progress, left, etaMs, result: result ?? 'nobody goes on with it' };
}

function runningText(progress: string, heldUp: HeldUp | null): Pick<Backfill, 'state' | 'progress'> {
  if (heldUp === null) return { state: 'running', progress };
  return { state: heldUp.state, progress: `${progress}; ${heldUp.text}` };
}

async function answersOf(
  { database }: GapsContext,
  { id, kind, askedMs, endedMs }: RecordedBackfill,
  series: readonly SeriesOfBackfill[],
): Promise<Answers> {
  const seriesIds = series.map(({ seriesId }) => seriesId);
  const lanes = isTracking(kind) ? trackingLanes : [kind];
  const asked = { sinceMs: askedMs, seriesIds, lanes, backfillId: id };
  const all = await ledgerMinutes(database, asked).read(endedMs ?? askedMs);
  const minutes = all.filter(({ minuteMs }) => endedMs === null || minuteMs <= endedMs);
  const { requests, fresh, failures } = tallyFetches(minutes);
  const kinds: Record<string, number> = {};
  for (const { failed, verdict, requests } of minutes) if (!failed) kinds[verdict] = (kinds[verdict] ?? 0) + requests;
  return {
    ...{ requests, points: fresh, kinds },
    failures: Object.entries(failures).map(([kind, requests]) => {
      const ofKind = minutes.filter(({ verdict, failed }) => failed && verdict === kind);
      const [newest] = ofKind.toSorted((one, other) => other.newestMs - one.newestMs);
      return { kind, requests, message: newest?.message ?? kind };
    }),
  };
}
