/**
 * Compares the claims of the database with the simulator's answers, at any time of a backfill under faults and at its
 * end.
 */

import { expect, onTestFinished } from 'vitest';
import type { EpochMs } from '../../model/intervals.ts';
import { type Range, subtract } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import type { Database } from '../../store/db/database.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { waitFor } from '../parts/wait-for.ts';
import { graceMs } from '../pipeline/run-pipeline.ts';
import { coverageOf, revisionsOf, storedPoints, truthOf } from '../pipeline/stored.ts';
import { answeredRanges } from './answered.ts';

export interface Witnessed {
  /** A connection that the test's faults do not affect, or that recovers when they end. */
  readonly database: Database;
  readonly simulator: RunningSimulator;
  /** By series id. */
  readonly tracked: ReadonlyMap<number, SeriesKey>;
  /** The tracked range of each series, all of it closed. */
  range(): Range;
  nowMs(): EpochMs;
}

/** Checks that every claim at this time was answered, is stored, and equals its answer. */
export async function expectTrueSoFar(witnessed: Witnessed): Promise<void> {
  const { database, simulator } = witnessed;
  for (const [seriesId, series] of witnessed.tracked) {
    // The order matters: a period that is covered at first was answered before and is stored by now.
    const covered = await coverageOf(database, seriesId);
    const stored = await storedPoints(database, series);
    expect(subtract(covered, answeredRanges(simulator.requests(), series)), 'never answered').toEqual([]);
    const truth = truthOf(simulator, series, witnessed.range());
    const isCovered = (row: object) =>
      covered.some(({ startMs, endMs }) => startMs <= timeOf(row) && timeOf(row) < endMs);
    const storedTimes = new Set(stored.map(timeOf));
    expect(stored).toEqual(truth.filter((row) => storedTimes.has(timeOf(row))));
    expect(
      truth.filter((row) => isCovered(row) && !storedTimes.has(timeOf(row))),
      'not stored',
    ).toEqual([]);
  }
}

/** Checks repeatedly until stopped. A check that the database rejects is skipped. */
export function watch(witnessed: Witnessed): { stop(): Promise<void> } {
  let stopped = false;
  let looks = 0;
  let wrong: unknown;
  const pauses = async () => {
    while (!stopped && wrong === undefined) {
      await expectTrueSoFar(witnessed).then(
        () => {
          looks += 1;
        },
        (error: unknown) => {
          if (error instanceof Error && error.name === 'AssertionError') wrong = error;
        },
      );
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const done = pauses();
  const stop = async () => {
    stopped = true;
    await done;
    if (wrong !== undefined) throw wrong;
    if (looks === 0) throw new Error('no check of the database succeeded');
  };
  onTestFinished(async () => {
    stopped = true;
    await done;
  });
  return { stop };
}

/** Checks that the database equals the truth as text, that every window was answered, and that nothing is missing. */
export async function expectWhole(witnessed: Witnessed): Promise<void> {
  const { database, simulator } = witnessed;
  const range = witnessed.range();
  for (const [seriesId, series] of witnessed.tracked) {
    const truth = truthOf(simulator, series, range);
    expect(truth.length).toBeGreaterThan(50);
    expect(await storedPoints(database, series)).toEqual(truth);
    expect(await coverageOf(database, seriesId)).toEqual([range]);
    expect(subtract([range], answeredRanges(simulator.requests(), series)), 'never answered').toEqual([]);
    const query = { nowMs: witnessed.nowMs(), graceMs, seriesIds: [seriesId] };
    expect(await seriesStatus(database, query)).toMatchObject([
      // A pause of the market may be confirmed as empty, if outages kept it from being answered with its neighbours.
      { missingMs: 0, points: truth.length, blocked: null },
    ]);
    expect(await listGaps(database, query)).toEqual([]);
    expect(await revisionsOf(database, seriesId)).toEqual([]);
  }
}

/** Waits until every window of the tracked series is covered, whatever remains in the queue. */
export async function untilWhole(witnessed: Witnessed): Promise<void> {
  const { database } = witnessed;
  const isWhole = async () => {
    const gaps = await listGaps(database, {
      nowMs: witnessed.nowMs(),
      graceMs,
      seriesIds: [...witnessed.tracked.keys()],
    });
    return gaps.length === 0;
  };
  await waitFor('every gap to be filled', () => isWhole().catch(() => false), { everyMs: 100 });
}

function timeOf(row: object): EpochMs {
  if ('period' in row) return Number(row.period);
  if ('time' in row) return Number(row.time);
  throw new Error('a row without a time');
}
