/** Commands that store no point: verify, and probes for the beginning of a series. */

import { expect } from 'vitest';
import { dayMs, type EpochMs, periodStart } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { consumeResults } from '../../store/commit/command-results.ts';
import { commitProbe } from '../../store/commit/commit-probe.ts';
import { unboundedKind, verifyWindow } from '../../store/commit/verification.ts';
import { readRejectedTime } from '../../store/ledger/quarantine.ts';
import { commandOf, fillOf } from '../parts/windows.ts';
import type { Answered } from './answers.ts';
import { answerPick, type Pick } from './commit-command.ts';
import { emptyConfirmMs, graceMs, type SeriesModel } from './series-model.ts';
import { areSame, type Values } from './truth.ts';
import type { Real, World } from './world.ts';

const run = 'a1';

/** Compares an answer with the stored points. Only the ledger changes. */
export async function verify(picked: Pick, world: World, { database }: Real): Promise<void> {
  const { model, requested, answer, prepared } = answerPick(world, picked);
  await verifyWindow(database, {
    ...prepared,
    window: commandOf(prepared.window, 'verify', { asks: prepared.window.asks, run }),
  });
  model.requests += 1;
  const [told] = await consumeResults.on(database.pool, { run });
  if (told === undefined) throw new Error('the run published no result');
  if (told.reached === null) return;
  const { unread, ...counts } = compared(model, answer, told.reached);
  expect(told).toMatchObject(counts);
  expect(told.message === null, 'compared although rows were rejected').toBe(unread === 0);
  if (answer.shown === null) return;
  // Verify does not check points that the answer omits.
  const lost = lostOf(model, answer, requested, told.reached, world.nowMs);
  if (lost.length > 0) expect(told.kind, 'verified although it may be truncated').toBe(unboundedKind);
}

function compared(model: SeriesModel, answer: Answered, { startMs, endMs }: Range) {
  const { points: here } = model;
  const { points: there } = answer;
  const { dataset, interval } = model.truth.series;
  const periodOf = (timeMs: number) => periodStart(timeMs, interval);
  // An answer says nothing of a period with rejected rows only.
  const unreadable = new Set(
    answer.rejected.flatMap(({ raw }) => {
      const timeMs = readRejectedTime({ raw, reason: '' }, dataset);
      return timeMs === null ? [] : [periodOf(timeMs)];
    }),
  );
  for (const timeMs of there.keys()) unreadable.delete(periodOf(timeMs));
  const counts = { points: 0, missingHere: 0, missingThere: 0, changed: 0, rewritten: 0, unread: 0 };
  for (const timeMs of new Set([...here.keys(), ...there.keys()])) {
    if (timeMs < startMs || timeMs >= endMs) continue;
    if (!there.has(timeMs) && unreadable.has(periodOf(timeMs))) {
      counts.unread += 1;
      continue;
    }
    counts.points += 1;
    const stored = here.get(timeMs);
    const given = there.get(timeMs);
    if (stored === undefined) counts.missingHere += 1;
    else if (given === undefined) counts.missingThere += 1;
    else if (!areSame(stored, given)) counts.changed += 1;
    else if (!isWrittenAlike(stored, given)) counts.rewritten += 1;
  }
  return counts;
}

function isWrittenAlike(a: Values, b: Values): boolean {
  return a.every((text, place) => text === b[place]);
}

/** Points that the source has in the range, but did not send. */
function lostOf(
  model: SeriesModel,
  { shown, sourceTimeMs, durationMs }: Answered,
  requested: Range,
  reached: Range,
  nowMs: EpochMs,
): EpochMs[] {
  const untilMs = Math.min(nowMs, sourceTimeMs ?? nowMs - durationMs);
  return model.periodsOf(requested).filter((timeMs) => {
    if (timeMs < reached.startMs || timeMs >= reached.endMs || !model.truth.has(timeMs)) return false;
    if (timeMs + model.lengthMs > untilMs || shown === null) return false;
    return timeMs < shown.startMs || timeMs > shown.endMs;
  });
}

export interface ProbePlan {
  readonly series: number;
  /** The beginning of the series, in days before the present. */
  readonly daysAgo: number;
  readonly days: number;
  /** The days at its start that the answer omits. All of them: the answer is empty. */
  readonly lacking: number;
}

/** Requests days to find the beginning of a series. Stored points may show that the answer is wrong. */
export async function probe(plan: ProbePlan, world: World, { database }: Real): Promise<void> {
  const model = world.models[plan.series] as SeriesModel;
  const { nowMs } = world;
  const startMs = periodStart(nowMs, 'd1') - plan.daysAgo * dayMs;
  const range = { startMs, endMs: startMs + plan.days * dayMs };
  const window = {
    ...fillOf({ seriesId: model.seriesId, series: model.truth.series, ...range }),
    lane: 'probe' as const,
  };
  const timesMs = Array.from({ length: plan.days }, (_, day) => startMs + day * dayMs).slice(plan.lacking);
  const result = await commitProbe(database, {
    window,
    attempt: 1,
    timesMs,
    nowMs,
    answer: { rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 },
    rules: { graceMs, emptyConfirmMs },
  });
  if (result.doubt === null) model.probed(result.empty, nowMs);
}
