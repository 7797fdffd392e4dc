/** Commits: one window, several in a transaction, several transactions at once, and one that a crash interrupts. */

import fc from 'fast-check';
import { expect } from 'vitest';
import type { Range } from '../../model/ranges.ts';
import { commitWindows } from '../../store/commit/commit-windows.ts';
import {
  type PreparedWindow,
  prepareWindow,
  type WindowCommit,
  type WindowResult,
} from '../../store/commit/prepare-window.ts';
import { type Database, isLockWait } from '../../store/db/database.ts';
import { storeTroubleOf } from '../../workers/store-failure.ts';
import { pointLinesOf } from '../parts/points.ts';
import { windowOf as windowOfLane } from '../parts/windows.ts';
import { type Answered, type AnswerPlan, answerPlan, answerTo } from './answers.ts';
import { breakingAt, type Crash } from './crash.ts';
import { type Counts, emptyConfirmMs, graceMs, type SeriesModel } from './series-model.ts';
import { openStore, type Real, seriesCount, type World, windowOf } from './world.ts';

/** A window and its answer. */
export interface Pick {
  readonly series: number;
  readonly from: number;
  readonly periods: number;
  /** Prefers a planned window, if there is one. */
  readonly planned: boolean;
  /** Whether the request also includes the periods beside the window. */
  readonly beside: boolean;
  readonly lane: 'backfill' | 'reread' | 'repair';
  readonly answer: AnswerPlan;
}

/** From the beginning or, rather often, from the end. */
export const from = fc.oneof(fc.nat({ max: 60 }), fc.integer({ min: -4, max: -1 }));

export const pick: fc.Arbitrary<Pick> = fc.record({
  series: fc.nat({ max: seriesCount - 1 }),
  from,
  periods: fc.integer({ min: 1, max: 12 }),
  planned: fc.boolean(),
  beside: fc.boolean(),
  lane: fc.constantFrom('backfill' as const, 'backfill', 'reread', 'repair'),
  answer: answerPlan,
});
export const picks = fc.oneof(
  { weight: 2, arbitrary: fc.array(pick, { minLength: 1, maxLength: 1 }) },
  { weight: 1, arbitrary: fc.array(pick, { minLength: 2, maxLength: 4 }) },
);
export const crash: fc.Arbitrary<Crash> = fc.record({ at: fc.nat({ max: 12 }), isDone: fc.boolean() });

interface Chosen {
  readonly model: SeriesModel;
  readonly window: Range;
  readonly requested: Range;
  readonly isNewest: boolean;
  readonly answer: Answered;
  readonly prepared: PreparedWindow;
}

export function choose(world: World, { series, from, periods, planned }: Omit<Pick, 'answer' | 'beside' | 'lane'>) {
  const model = world.models[series] as SeriesModel;
  const claim = planned ? model.claimed[Math.abs(from) % Math.max(1, model.claimed.length)] : undefined;
  if (claim !== undefined) model.claimed = model.claimed.filter((other) => other !== claim);
  return { model, window: claim ?? windowOf(world, model, from, periods) };
}

export function answerPick(world: World, picked: Pick): Chosen {
  const { model, window } = choose(world, picked);
  const requested = picked.beside
    ? { startMs: window.startMs - model.lengthMs, endMs: window.endMs + model.lengthMs }
    : window;
  const answer = answerTo(model.truth, requested, picked.answer, world);
  const lane = picked.planned ? 'refresh' : picked.lane;
  const of = { seriesId: model.seriesId, series: model.truth.series, ...window };
  const commit = {
    window: windowOfLane(of, lane, { asks: requested, run: 'b2' }),
    attempt: 1,
    answer: { ...answer, rows: pointLinesOf(of.series.dataset, answer.rows), status: 200, bytes: 1 },
    nowMs: world.nowMs,
    rules: { graceMs, emptyConfirmMs },
  } as WindowCommit;
  const isNewest = lane === 'refresh';
  return { model, window, requested, isNewest, answer, prepared: prepareWindow(commit) };
}

/** All old or none: otherwise the result would depend on the order within a group, which is not defined. */
function answerGroup(world: World, picked: readonly Pick[], old = picked[0]?.answer.old ?? false): Chosen[] {
  // The coverage of one window decides whether the witnesses of another are stored, and a group has no order.
  const beside = picked.length === 1 && (picked[0]?.beside ?? false);
  return picked.map((one) => answerPick(world, { ...one, beside, answer: { ...one.answer, old } }));
}

/** Tells the model the answers: all are counted before the first is evaluated. */
function learn(chosen: readonly Chosen[], world: World, order: 'known' | 'unknown' = 'known'): Counts[] {
  for (const { model, answer } of chosen) model.sawRows(answer);
  const exactly = order === 'known' && chosen.length === 1 ? 'alone' : order;
  // Within a group points count first: they end the empty answers that another window might have confirmed.
  const inTurn = [...chosen].sort((a, b) => Number(a.answer.shown === null) - Number(b.answer.shown === null));
  const counts = inTurn.map(({ model, answer, ...asked }) => model.answered(asked, answer, world.nowMs, exactly));
  if (order === 'unknown')
    for (const { model, answer } of chosen)
      if (answer.shown !== null)
        model.refutesEmptiness({ ...answer.shown, endMs: answer.shown.endMs + model.lengthMs });
  return counts;
}

/**
 * As workers do (workers/commit-groups.ts): a group that cannot be stored together, or that meets a deadlock, is
 * committed window by window, and a window that meets a deadlock is committed again.
 */
async function commitAll(database: Database, chosen: readonly Chosen[]): Promise<WindowResult[]> {
  const windows = chosen.map(({ prepared }) => prepared);
  try {
    return await commitWindows(database, windows);
  } catch (error) {
    if (isLockWait(error) && windows.length === 1) return commitAll(database, chosen);
    if (!isLockWait(error) && (windows.length === 1 || storeTroubleOf(error).isTransient)) throw error;
    const results: WindowResult[] = [];
    for (const one of chosen) results.push(...(await commitAll(database, [one])));
    return results;
  }
}

export async function commitGroup(picked: readonly Pick[], world: World, real: Real): Promise<void> {
  const chosen = answerGroup(world, picked);
  const results = await commitAll(real.database, chosen);
  const counts = learn(chosen, world);
  expect(results.map(countsOf).reduce(sum), 'counts of points').toEqual(counts.reduce(sum));
}

/** Commits several groups concurrently, which may contain the same windows. */
export async function commitTogether(groups: ReadonlyArray<readonly Pick[]>, world: World, real: Real): Promise<void> {
  // There is no order among groups either.
  const chosen = groups.map((group) =>
    answerGroup(
      world,
      group.map((one) => ({ ...one, beside: false })),
      false,
    ),
  );
  await Promise.all([...chosen, ...chosen.slice(0, 1)].map((group) => commitAll(real.database, group)));
  const all = [...chosen, ...chosen.slice(0, 1)].flat();
  learn(all, world, 'unknown');
}

/** Work then continues with new connections. */
export async function commitAndCrash(picked: readonly Pick[], crash: Crash, world: World, real: Real): Promise<void> {
  const chosen = answerGroup(world, picked);
  const breaking = breakingAt(real.database, crash);
  await commitAll(breaking, chosen).catch((error: Error) => {
    expect(error.message).toBe('Connection terminated unexpectedly');
  });
  // After a lost race the windows are committed one by one, in order.
  const { commits, rollbacks } = breaking.ended;
  learn(rollbacks > 0 ? chosen.slice(0, commits) : commits > 0 ? chosen : [], world);
  await real.database.close();
  real.database = openStore(real.url);
}

function countsOf({ fresh, changed, unchanged }: WindowResult): Counts {
  return { fresh, changed, unchanged };
}

function sum(a: Counts, b: Counts): Counts {
  return { fresh: a.fresh + b.fresh, changed: a.changed + b.changed, unchanged: a.unchanged + b.unchanged };
}
