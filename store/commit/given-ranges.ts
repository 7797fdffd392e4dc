/** Which source gave what is covered of a series last. */

import type pg from 'pg';
import { int4, type RowOf, ranges, rowsOf, statement, text } from '../db/statement.ts';

export const givenRows = rowsOf({ seriesId: int4, source: text, ranges });
export type GivenRanges = RowOf<(typeof givenRows)['columns']>;

/**
 * Moves ranges to the source that gave them, as parts of a `with`.
 *
 * @param given the ranges of each series and source.
 */
export const moveRanges = (given: string) => `
    others as (
      update tidemark.source_ranges c set covered = c.covered - g.ranges from ${given} g
      where c.series_id = g.series_id and c.source <> g.source and c.covered && g.ranges
    ), own as (
      insert into tidemark.source_ranges as c (series_id, source, covered) select * from ${given}
      on conflict (series_id, source) do update set covered = c.covered + excluded.covered
    )`;

/** Records which source, or `file`, gave ranges of series. The caller has locked them. */
export async function recordGiven(client: pg.PoolClient, given: readonly GivenRanges[]): Promise<void> {
  if (given.length > 0) await recordRanges.on(client, { given });
}

const recordRanges = statement({
  name: 'record-sources',
  text: `
    with total as (
      select series_id, source, range_agg(ranges) as ranges from $given group by 1, 2
    ), ${moveRanges('total')} select`,
  parameters: { given: givenRows },
});
