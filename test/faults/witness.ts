/**
 * Compares what the database claims with what the simulator answered: at any moment of a backfill, while everything
 * around it fails, and at its end.
 */

import { expect, onTestFinished } from 'vitest';
import type { EpochMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { type Range, subtract } from '../../planning/ranges.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import type { Database } from '../../store/database.ts';
import { listGaps } from '../../store/gaps.ts';
import { seriesStatus } from '../../store/status.ts';
import { waitFor } from '../parts/wait-for.ts';
import { graceMs } from '../pipeline/run-pipeline.ts';
import { coverageOf, revisionsOf, storedPoints, truthOf } from '../pipeline/stored.ts';
import { answeredRanges } from './answered.ts';

export interface Witnessed {
  /** Reached without the faults of the test, or as soon as they let through. */
  readonly database: Database;
  readonly simulator: RunningSimulator;
  /** By series id. */
  readonly tracked: ReadonlyMap<number, SeriesKey>;
  /** What is tracked of each, all of it closed. */
  range(): Range;
  nowMs(): EpochMs;
}

/** Looks again and again until stopped. A look that the database refuses is left out. */
export interface Watch {
  /** @throws what a look found wrong; Error when none got through. */
  stop(): Promise<void>;
}

/**
 * Whether at this moment everything that is claimed was answered, is stored, and is as it was answered.
 *
 * @throws AssertionError for a claim that is not true; whatever the database throws.
 */
export async function expectTrueSoFar(witnessed: Witnessed): Promise<void> {
  const { database, simulator } = witnessed;
  for (const [seriesId, series] of witnessed.tracked) {
    // In this order: what is claimed at first is stored by then, and was answered before.
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

export function watch(witnessed: Witnessed): Watch {
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
    if (looks === 0) throw new Error('the database was never there to be looked at');
  };
  onTestFinished(async () => {
    stopped = true;
    await done;
  });
  return { stop };
}

/** The database equals the truth as text, every window of it was answered, and nothing is missing. */
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
      { missingMs: 0, confirmedEmptyMs: 0, points: truth.length, blocked: null },
    ]);
    expect(await listGaps(database, query)).toEqual([]);
    expect(await revisionsOf(database, seriesId)).toEqual([]);
  }
}

/** Waits until every window of the tracked series is covered, whatever still stands in the queue. */
export async function untilWhole(witnessed: Witnessed, withinMs = 60_000): Promise<void> {
  const { database } = witnessed;
  const isWhole = async () => {
    const gaps = await listGaps(database, {
      nowMs: witnessed.nowMs(),
      graceMs,
      seriesIds: [...witnessed.tracked.keys()],
    });
    return gaps.length === 0;
  };
  await waitFor('an end of the gaps', () => isWhole().catch(() => false), { everyMs: 100, withinMs });
}

function timeOf(row: object): EpochMs {
  if ('period' in row) return Number(row.period);
  if ('time' in row) return Number(row.time);
  throw new Error('a row without a time');
}
