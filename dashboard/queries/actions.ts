/** The record of actions at the dashboard. */

import type { EpochMs } from '../../model/intervals.ts';
import { type Database, timestamp } from '../../store/db/database.ts';
import type { RecordedAction } from './shapes.ts';

/** @returns its id. */
export async function recordAction(
  database: Database,
  action: Pick<RecordedAction, 'timeMs' | 'action' | 'request' | 'address' | 'userName'>,
): Promise<number> {
  const { timeMs, request, address, userName } = action;
  const result = await database.pool.query<{ id: number }>(
    `insert into tidemark.actions (time, action, request, address, user_name, state)
     values ($1, $2, $3, $4, $5, 'running') returning id`,
    [timestamp(timeMs), action.action, JSON.stringify(request), address, userName],
  );
  const [row] = result.rows;
  if (row === undefined) throw new Error('an insert without a row');
  return row.id;
}

export async function endAction(
  database: Database,
  id: number,
  end: Pick<RecordedAction, 'state' | 'result'> & { readonly endedMs: EpochMs },
): Promise<void> {
  await database.pool.query('update tidemark.actions set state = $2, result = $3, ended_at = $4 where id = $1', [
    id,
    end.state,
    end.result,
    timestamp(end.endedMs),
  ]);
}

/** The newest first. */
export async function listActions(database: Database, most: number): Promise<RecordedAction[]> {
  const result = await database.pool.query<RecordedAction>(
    `select id, time as "timeMs", action, request, address, user_name as "userName", state, result, ended_at as "endedMs"
     from tidemark.actions order by id desc limit $1`,
    [most],
  );
  return result.rows;
}
