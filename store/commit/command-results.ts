/**
 * Results of the windows that a command requested. The worker that had the answer publishes a result in the
 * transaction that handled it. The command consumes the results, wherever the two run.
 */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Command } from '../../model/window.ts';
import type { Database } from '../db/database.ts';
import { int4, nullable, range, rowsOf, statement, text, time } from '../db/statement.ts';
import { timestamp } from '../db/values.ts';
import type { Comparison } from './differences.ts';

export interface CommandResult extends Range, Comparison {
  readonly seriesId: number;
  /** Range that the answer decided, from the window's start; null: none. `message` says why, or what of it was not compared. */
  readonly reached: Range | null;
  /**
   * Verdict or kind of error of an answer that decided nothing; `overturned` where a probe found points
   * before the known beginning of the series.
   */
  readonly kind: string | null;
  readonly message: string | null;
  /** Points that a repair inserted or changed. */
  readonly fresh: number;
  readonly revised: number;
}

/** A result that decided nothing. */
export const noResult = Object.freeze({
  reached: null,
  kind: null,
  message: null,
  points: 0,
  missingHere: 0,
  missingThere: 0,
  changed: 0,
  rewritten: 0,
  fresh: 0,
  revised: 0,
});

/** Publishes the result of a window, within the caller's transaction when `client` is one. */
export async function publishResult(
  client: pg.Pool | pg.PoolClient,
  { window, nowMs }: { readonly window: Pick<Command, 'run' | 'seriesId' | 'of'>; readonly nowMs: EpochMs },
  outcome: Partial<Omit<CommandResult, 'seriesId' | 'startMs' | 'endMs'>>,
): Promise<void> {
  const { run, seriesId, of: range } = window;
  const result = { ...noResult, ...outcome };
  const message = result.message?.slice(0, 1000) ?? null;
  await publish.on(client, { result: [{ ...result, run, seriesId, message, range, answeredAt: nowMs }] });
}

const counts = {
  points: int4,
  missingHere: int4,
  missingThere: int4,
  changed: int4,
  rewritten: int4,
  fresh: int4,
  revised: int4,
};

const publish = statement({
  name: 'publish-result',
  text: `
    insert into tidemark.asked_windows
      (run, series_id, range, answered_at, reached, kind, message, points, missing_here, missing_there, changed,
       rewritten, fresh, revised)
    select * from $result
    on conflict (run, series_id, range) do update
      set answered_at = excluded.answered_at, reached = excluded.reached, kind = excluded.kind,
          message = excluded.message, points = excluded.points, missing_here = excluded.missing_here,
          missing_there = excluded.missing_there, changed = excluded.changed, rewritten = excluded.rewritten,
          fresh = excluded.fresh, revised = excluded.revised`,
  parameters: {
    result: rowsOf({
      ...{ run: text, seriesId: int4, range, answeredAt: time, reached: nullable(range) },
      ...{ kind: nullable(text), message: nullable(text), ...counts },
    }),
  },
});

/** Reads and deletes the results of a run. */
export async function consumeResults(database: Database, run: string): Promise<CommandResult[]> {
  const rows = await consume.on(database.pool, { run });
  return rows.map(({ reachedStartMs, reachedEndMs, ...row }) => ({
    ...row,
    reached: reachedStartMs === null || reachedEndMs === null ? null : { startMs: reachedStartMs, endMs: reachedEndMs },
  }));
}

const consume = statement({
  name: 'consume-results',
  text: `
    delete from tidemark.asked_windows where run = $run
    returning series_id as "seriesId", lower(range) as "startMs", upper(range) as "endMs",
              lower(reached) as "reachedStartMs", upper(reached) as "reachedEndMs", kind, message, points,
              missing_here as "missingHere", missing_there as "missingThere", changed, rewritten, fresh, revised`,
  parameters: { run: text },
  row: {
    ...{ seriesId: int4, startMs: time, endMs: time, reachedStartMs: nullable(time), reachedEndMs: nullable(time) },
    ...{ kind: nullable(text), message: nullable(text), ...counts },
  },
});

/** Deletes results of runs that ended before they could read them. */
export async function deleteUnreadResults(database: Database, beforeMs: EpochMs): Promise<void> {
  await database.pool.query('delete from tidemark.asked_windows where answered_at < $1', [timestamp(beforeMs)]);
}
