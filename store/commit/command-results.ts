/**
 * Results of the windows that a command requested. The worker that had the answer publishes a result in the
 * transaction that handled it. The command consumes the results, wherever the two run.
 */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import type { Command } from '../../model/window.ts';
import { int4, nullable, type RowOf, range, rowsOf, statement, text, time } from '../db/statement.ts';

export type CommandResult = RowOf<typeof consumeResults.row>;

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
  outcome: Partial<RowOf<typeof facts>>,
): Promise<void> {
  const { run, seriesId, of: range } = window;
  const result = { ...noResult, ...outcome };
  const message = result.message?.slice(0, 1000) ?? null;
  await publish.on(client, { result: [{ ...result, run, seriesId, message, range, answeredAt: nowMs }] });
}

/** What a result states. */
const facts = {
  /**
   * Range that the answer decided, from the window's start; null: none. `message` says why, or what of it was not
   * compared.
   */
  reached: nullable(range),
  /**
   * Verdict or kind of error of an answer that decided nothing; `overturned` where a probe found points
   * before the known beginning of the series.
   */
  kind: nullable(text),
  message: nullable(text),
  /** As `Comparison` of differences.ts has them. */
  ...{ points: int4, missingHere: int4, missingThere: int4, changed: int4, rewritten: int4 },
  /** Points that a repair inserted or changed. */
  ...{ fresh: int4, revised: int4 },
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
  parameters: { result: rowsOf({ run: text, seriesId: int4, range, answeredAt: time, ...facts }) },
});

/** Reads and deletes the results of a run. */
export const consumeResults = statement({
  name: 'consume-results',
  text: `
    delete from tidemark.asked_windows where run = $run
    returning series_id as "seriesId", lower(range) as "startMs", upper(range) as "endMs", reached, kind, message,
      points,
              missing_here as "missingHere", missing_there as "missingThere", changed, rewritten, fresh, revised`,
  parameters: { run: text },
  row: { seriesId: int4, startMs: time, endMs: time, ...facts },
});

/** Deletes results of runs that ended before they could read them. */
export const deleteUnreadResults = statement({
  name: 'delete-unread-results',
  text: 'delete from tidemark.asked_windows where answered_at < $beforeMs',
  parameters: { beforeMs: time },
});
