/**
 * The time until ranges are fetched beside all else that their sources are asked for: the same figure in every list and
 * in the progress of a command. A backfill of everything has that of `status` (planning/headline.ts).
 */

import type { EpochMs } from '../../model/intervals.ts';
import { isTracking } from '../../model/lanes.ts';
import { clip, type Range } from '../../model/ranges.ts';
import { sum } from '../../model/sum.ts';
import { type RecentAnswers, requestsEtaMs, requestsUntil, type Turns, unqueued } from '../../planning/eta.ts';
import { isHeld, type QueueFacts } from '../../planning/headline.ts';
import { recordedBackfills, seriesOfBackfills } from '../../store/ledger/backfills.ts';
import { readRateRefusals, readRecentAnswers } from '../../store/ledger/recent-answers.ts';
import { readOutageOf } from '../../store/ledger/source-outage.ts';
import { type Gap, listGaps } from '../../store/series/gaps.ts';
import { readPause } from '../../store/settings/settings.ts';
import { readSourcePauses } from '../../store/settings/source-orders.ts';
import { countBySource, type DivideGaps, divideWorkable, type GapsContext } from '../source-gaps.ts';

/** What takes turns at the sources: a series where a scheduler runs, else a backfill whose process plans for it. */
interface Taker {
  /** Of the series, or of the backfill. */
  readonly id: number | null;
  readonly seriesIds: readonly number[];
  /** Windows that can be requested now, by source. */
  readonly left: ReadonlyMap<string, number>;
}

type Ranges = ReadonlyMap<number, Range>;

/** What all sources are asked for, at one time. */
export interface Demand {
  readonly nowMs: EpochMs;
  readonly queue: QueueFacts;
  readonly divide: DivideGaps;
  /** By series. */
  readonly gaps: ReadonlyMap<number, readonly Gap[]>;
  readonly takers: readonly Taker[];
  readonly recent: readonly RecentAnswers[];
  /** Sources of which nothing is requested now. */
  readonly held: ReadonlySet<string>;
}

export async function readDemand(
  { database, config }: Pick<GapsContext, 'database' | 'config'>,
  queue: QueueFacts,
  { nowMs, divide }: { readonly nowMs: EpochMs; readonly divide: DivideGaps },
): Promise<Demand> {
  const backfills = queue.schedulers > 0 ? null : await readAlive(database);
  const seriesIds = backfills === null ? undefined : [...backfills.values()].flatMap((ranges) => [...ranges.keys()]);
  const found = await listGaps(database, { nowMs, graceMs: config.worker.graceMs, seriesIds });
  const gaps = new Map<number, Gap[]>();
  for (const gap of found) {
    const of = gaps.get(gap.seriesId) ?? [];
    gaps.set(gap.seriesId, of);
    of.push(gap);
  }
  const takerOf = (id: number | null, ranges: Ranges) => turnsOf(id, ranges, { gaps, nowMs, divide });
  const takers =
    backfills === null
      ? [...divideWorkable(found, nowMs, divide)].map(([id, of]) => ({
          ...{ id, seriesIds: [id], left: countBySource([of]) },
        }))
      : [...backfills].map(([id, ranges]) => takerOf(id, ranges));
  return {
    nowMs,
    queue,
    divide,
    gaps,
    takers,
    recent: await readRecentAnswers(database, nowMs),
    held: await readHeld(),
  };

  async function readHeld(): Promise<ReadonlySet<string>> {
    const names = queue.sources.map(({ source }) => source);
    if ((await readPause(database.pool)) !== null) return new Set(names);
    const pauses = await readSourcePauses(database);
    const refusals = await readRateRefusals(database, nowMs);
    const held = new Set<string>();
    for (const source of names) {
      const outage = await readOutageOf(database, source, nowMs);
      const state = { source, outage, pause: pauses.get(source) ?? null, refusal: refusals.get(source) ?? null };
      if (isHeld(state, queue)) held.add(source);
    }
    return held;
  }
}

/** The ranges of those whose process runs. */
async function readAlive(database: GapsContext['database']): Promise<ReadonlyMap<number, Ranges>> {
  const recorded = await recordedBackfills.on(database.pool, { id: null, most: mostAlive });
  const ids = recorded.filter((one) => one.endedMs === null && one.isAlive && isTracking(one.kind)).map(({ id }) => id);
  const found = new Map(ids.map((id) => [id, new Map<number, Range>()]));
  for (const { backfillId, seriesId, range } of await seriesOfBackfills.on(database.pool, { ids }))
    found.get(backfillId)?.set(seriesId, range);
  return found;
}

/** More processes would not share a budget. */
const mostAlive = 100;

function turnsOf(
  id: number | null,
  ranges: Ranges,
  { gaps, nowMs, divide }: Pick<Demand, 'gaps' | 'nowMs' | 'divide'>,
): Taker {
  const own = [...ranges].flatMap(([seriesId, range]) =>
    (gaps.get(seriesId) ?? []).flatMap((gap) => clip([gap], range).map((piece) => ({ ...gap, ...piece }))),
  );
  const left = countBySource(divideWorkable(own, nowMs, divide).values());
  return { id, seriesIds: [...ranges.keys()], left };
}

function turnsAt(source: string, { sources }: QueueFacts): (taker: Taker) => Turns {
  const { queued } = sources.find((one) => one.source === source) ?? {};
  return ({ seriesIds, left }) => ({
    left: left.get(source) ?? 0,
    queued: sum(seriesIds.map((seriesId) => queued?.get(seriesId) ?? 0)),
  });
}

/** Windows of a source that somebody goes on with, and that are not in the queue yet. */
export function backlogAt(source: string, { takers, queue }: Demand): number {
  return sum(takers.map(turnsAt(source, queue)).map(unqueued));
}

/** @param of.id of the backfill; null: it is not recorded. @returns null: unknown, or nothing is requested now. */
export function etaOfRanges(
  { id, ranges }: { readonly id: number | null; readonly ranges: Ranges },
  demand: Demand,
): number | null {
  const { queue, nowMs, held } = demand;
  const isEach = queue.schedulers > 0;
  const startMs = Number.NEGATIVE_INFINITY;
  const whole = turnsOf(id, ranges, demand);
  // The oldest windows of a series come first, also those of an earlier range.
  const own = isEach
    ? [...ranges].map(([seriesId, { endMs }]) => turnsOf(seriesId, new Map([[seriesId, { startMs, endMs }]]), demand))
    : [whole];
  const others = demand.takers.filter((one) => (isEach ? !ranges.has(one.id ?? 0) : one.id !== id));
  const wanted = [...whole.left].filter(([, windows]) => windows > 0).map(([source]) => source);
  if (wanted.some((source) => held.has(source))) return null;
  const work = wanted.map((source) => {
    const { perMinute = 0 } = queue.sources.find((one) => one.source === source) ?? {};
    const turns = turnsAt(source, queue);
    return { source, perMinute, asked: requestsUntil(own.map(turns), others.map(turns)) };
  });
  // New periods are not a part of the ranges.
  return requestsEtaMs(work, demand.recent, { readAtMs: nowMs, arriving: Number.POSITIVE_INFINITY });
}
