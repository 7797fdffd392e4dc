/** The record of actions at the dashboard. */

import type { Database } from '../../store/db/database.ts';
import { int4, int8, jsonb, nullable, oneOf, statement, text, time } from '../../store/db/statement.ts';
import type { RecordedAction } from './shapes.ts';

/** @returns its id. */
export async function recordAction(
  database: Database,
  action: Pick<RecordedAction, 'timeMs' | 'action' | 'request' | 'address' | 'userName'>,
): Promise<number> {
  const [row] = await insertAction.on(database.pool, action);
  if (row === undefined) throw new Error('an insert without a row');
  return row.id;
}

const insertAction = statement({
  name: 'insert-action',
  text: `insert into tidemark.actions (time, action, request, address, user_name, state)
         values ($timeMs, $action, $request, $address, $userName, 'running') returning id`,
  parameters: { timeMs: time, action: text, request: jsonb(), address: text, userName: nullable(text) },
  row: { id: int8 },
});

export const endAction = statement({
  name: 'end-action',
  text: 'update tidemark.actions set state = $state, result = $result, ended_at = $endedMs where id = $id',
  parameters: { id: int8, state: text, result: nullable(text), endedMs: time },
});

export const newestActions = statement({
  name: 'newest-actions',
  text: `
    select id, time as "timeMs", action, request, address, user_name as "userName", state, result,
           ended_at as "endedMs"
    from tidemark.actions order by id desc limit $most`,
  parameters: { most: int4 },
  row: {
    ...{ id: int8, timeMs: time, action: text, request: jsonb(), address: text, userName: nullable(text) },
    ...{ state: oneOf<RecordedAction['state']>(), result: nullable(text), endedMs: nullable(time) },
  },
});
