/**
 * The lock on series, which coverage moves under. Points are locked before it, so that no two transactions deadlock.
 */

import { int4, listOf, statement } from '../db/statement.ts';

/** Locks series for the rest of the transaction, in the order of their ids: two transactions never deadlock. */
export const lockSeries = statement({
  name: 'lock-series',
  text: 'select from tidemark.series where id = any ($seriesIds) order by id for no key update',
  parameters: { seriesIds: listOf(int4) },
});
