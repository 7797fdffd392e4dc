/**
 * What came of the windows that a run of a command asked for by itself: the worker that had the answer puts it down
 * here, in the transaction of what it did with it, and the command takes it out, wherever the two run.
 */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import type { Comparison } from './compare.ts';
import { type Database, timeRange, timestamp } from './database.ts';

export interface AskedWindow extends Range, Comparison {
  readonly seriesId: number;
  /** What the answer settled, from the window's start; null: nothing, and `message` says why. */
  readonly reached: Range | null;
  /**
   * Verdict or kind of error of an answer that settled nothing; `overturned` where a probe found points before what was
   * taken for the beginning of the series.
   */
  readonly kind: string | null;
  readonly message: string | null;
  /** Points that a repair stored, and values that it changed. */
  readonly fresh: number;
  readonly revised: number;
}

const nothing = Object.freeze({
  ...{ reached: null, kind: null, message: null, points: 0, missingHere: 0, missingThere: 0 },
  ...{ changed: 0, rewritten: 0, fresh: 0, revised: 0 },
});

/** Puts down what came of a window, within the caller's transaction when `client` is one. */
export async function tellRun(
  client: pg.Pool | pg.PoolClient,
  asked: { run: string; seriesId: number; window: Range; nowMs: EpochMs },
  outcome: Partial<Omit<AskedWindow, 'seriesId' | 'startMs' | 'endMs'>>,
): Promise<void> {
  const told = { ...nothing, ...outcome };
  await client.query({
    name: 'tell-run',
    text: `insert into tidemark.asked_windows
             (run, series_id, range, answered_at, reached, kind, message, points, missing_here, missing_there, changed,
              rewritten, fresh, revised)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
           on conflict (run, series_id, range) do update
             set answered_at = excluded.answered_at, reached = excluded.reached, kind = excluded.kind,
                 message = excluded.message, points = excluded.points, missing_here = excluded.missing_here,
                 missing_there = excluded.missing_there, changed = excluded.changed, rewritten = excluded.rewritten,
                 fresh = excluded.fresh, revised = excluded.revised`,
    values: [
      asked.run,
      asked.seriesId,
      timeRange(asked.window.startMs, asked.window.endMs),
      timestamp(asked.nowMs),
      told.reached && timeRange(told.reached.startMs, told.reached.endMs),
      told.kind,
      told.message?.slice(0, 1000),
      told.points,
      told.missingHere,
      told.missingThere,
      told.changed,
      told.rewritten,
      told.fresh,
      told.revised,
    ],
  });
}

/** Takes out what a run was told since it last asked. */
export async function takeAnswers(database: Database, run: string): Promise<AskedWindow[]> {
  const result = await database.pool.query<{
    series_id: number;
    start: EpochMs;
    end: EpochMs;
    reached_start: EpochMs | null;
    reached_end: EpochMs | null;
    kind: string | null;
    message: string | null;
    points: number;
    missing_here: number;
    missing_there: number;
    changed: number;
    rewritten: number;
    fresh: number;
    revised: number;
  }>({
    name: 'take-answers',
    text: `delete from tidemark.asked_windows where run = $1
           returning *, lower(range) as start, upper(range) as end, lower(reached) as reached_start,
                     upper(reached) as reached_end`,
    values: [run],
  });
  return result.rows.map((row) => ({
    seriesId: row.series_id,
    startMs: row.start,
    endMs: row.end,
    reached:
      row.reached_start === null || row.reached_end === null
        ? null
        : { startMs: row.reached_start, endMs: row.reached_end },
    kind: row.kind,
    message: row.message,
    points: row.points,
    missingHere: row.missing_here,
    missingThere: row.missing_there,
    changed: row.changed,
    rewritten: row.rewritten,
    fresh: row.fresh,
    revised: row.revised,
  }));
}

/** Forgets what runs were told that ended before they could read it. */
export async function forgetUnread(database: Database, beforeMs: EpochMs): Promise<void> {
  await database.pool.query('delete from tidemark.asked_windows where answered_at < $1', [
    timestamp(beforeMs),
  ]);
}
