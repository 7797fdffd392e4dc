/** Commits: one window, several in a transaction, several transactions at once, one that a crash cuts off. */

import fc from 'fast-check';
import { expect } from 'vitest';
import type { Range } from '../../planning/ranges.ts';
import type { Database } from '../../store/database.ts';
import { type PreparedWindow, prepareWindow } from '../../store/prepared.ts';
import { commitWindows, type WindowCommit, type WindowResult } from '../../store/windows.ts';
import { storeTroubleOf } from '../../workers/store-trouble.ts';
import { type Answered, type AnswerPlan, answerPlan, answerTo } from './answers.ts';
import { breakingAt, type Crash } from './crash.ts';
import { type Counts, emptyConfirmMs, graceMs, type SeriesModel } from './series-model.ts';
import { openStore, type Real, seriesCount, type World, windowOf } from './world.ts';

/** Which window, and how it is answered. */
export interface Pick {
  readonly series: number;
  readonly from: number;
  readonly periods: number;
  /** Rather one that was planned, where there is one. */
  readonly planned: boolean;
  readonly answer: AnswerPlan;
}

/** From the beginning, or, rather often, from the end. */
export const from = fc.oneof(fc.nat({ max: 60 }), fc.integer({ min: -4, max: -1 }));

export const pick: fc.Arbitrary<Pick> = fc.record({
  series: fc.nat({ max: seriesCount - 1 }),
  from,
  periods: fc.integer({ min: 1, max: 12 }),
  planned: fc.boolean(),
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
  readonly answer: Answered;
  readonly prepared: PreparedWindow;
}

export function choose(world: World, { series, from, periods, planned }: Omit<Pick, 'answer'>) {
  const model = world.models[series] as SeriesModel;
  const claim = planned ? model.claimed[Math.abs(from) % Math.max(1, model.claimed.length)] : undefined;
  if (claim !== undefined) model.claimed = model.claimed.filter((other) => other !== claim);
  return { model, window: claim ?? windowOf(world, model, from, periods) };
}

function answerPick(world: World, picked: Pick): Chosen {
  const { model, window } = choose(world, picked);
  const answer = answerTo(model.truth, window, picked.answer, world);
  const commit = {
    seriesId: model.seriesId,
    series: model.truth.series,
    window,
    lane: picked.planned ? 'refresh' : 'backfill',
    attempt: 1,
    answer: { ...answer, status: 200, bytes: 1 },
    nowMs: world.nowMs,
    graceMs,
    emptyConfirmMs,
  } as WindowCommit;
  return { model, window, answer, prepared: prepareWindow(commit) };
}

/** All of them as old: else it would matter in which order a group is stored, which it does not promise. */
function answerGroup(world: World, picked: readonly Pick[], old = picked[0]?.answer.old ?? false): Chosen[] {
  return picked.map((one) => answerPick(world, { ...one, answer: { ...one.answer, old } }));
}

/** The model learns what came: all are counted before the first is judged. */
function learn(chosen: readonly Chosen[], world: World, order: 'known' | 'unknown' = 'known'): Counts[] {
  for (const { model, answer } of chosen) model.sawRows(answer);
  return chosen.map(({ model, window, answer }) => model.answered(window, answer, world.nowMs, order));
}

/** As workers do: a group that cannot be stored as one is committed window by window (workers/commit-groups.ts). */
async function commitAll(database: Database, chosen: readonly Chosen[]): Promise<WindowResult[]> {
  const windows = chosen.map(({ prepared }) => prepared);
  try {
    return await commitWindows(database, windows);
  } catch (error) {
    if (windows.length === 1 || storeTroubleOf(error).passes) throw error;
    const results: WindowResult[] = [];
    for (const window of windows) results.push(...(await commitWindows(database, [window])));
    return results;
  }
}

export async function commitGroup(picked: readonly Pick[], world: World, real: Real): Promise<void> {
  const chosen = answerGroup(world, picked);
  const results = await commitAll(real.database, chosen);
  const counts = learn(chosen, world);
  expect(results.map(countsOf).reduce(sum), 'counts of points').toEqual(counts.reduce(sum));
}

/** Groups at the same time, of the same windows among others. */
export async function commitTogether(
  groups: ReadonlyArray<readonly Pick[]>,
  world: World,
  real: Real,
): Promise<void> {
  // Nor is there an order among groups.
  const chosen = groups.map((group) => answerGroup(world, group, false));
  await Promise.all([...chosen, ...chosen.slice(0, 1)].map((group) => commitAll(real.database, group)));
  const all = [...chosen, ...chosen.slice(0, 1)].flat();
  learn(all, world, 'unknown');
}

/** After it, the work goes on with connections of its own. */
export async function commitAndCrash(
  picked: readonly Pick[],
  crash: Crash,
  world: World,
  real: Real,
): Promise<void> {
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
  return {
    fresh: a.fresh + b.fresh,
    changed: a.changed + b.changed,
    unchanged: a.unchanged + b.unchanged,
  };
}
