/**
 * The months of series whose points have changed, for copies outside the database. The mark is written in the
 * transaction that writes the points. It is a time that differs after each change, and is compared for equality only.
 */

import type pg from 'pg';
import { int4, type RowOf, rowsOf, statement, time } from '../db/statement.ts';

/** Times of the first and the last point. */
const span = { seriesId: int4, firstMs: time, lastMs: time };
export type ChangedSpan = RowOf<typeof span>;

/**
 * Marks every month of the spans, within the transaction that changes their points. The caller holds the series' locks.
 */
export async function markChangedMonths(client: pg.PoolClient, spans: readonly ChangedSpan[]): Promise<void> {
  if (spans.length > 0) await markMonths.on(client, { spans });
}

const markMonths = statement({
  name: 'mark-changed-months',
  text: `
    insert into tidemark.changed_months as m (series_id, month, changed_at)
    select series_id, month, clock_timestamp()
    from (select distinct series_id, n.month::date as month
          from $spans
          cross join lateral generate_series(date_trunc('month', first_ms at time zone 'UTC'),
                                             last_ms at time zone 'UTC', interval '1 month') n (month)) months
    order by series_id, month
    on conflict (series_id, month)
      do update set changed_at = greatest(excluded.changed_at, m.changed_at + interval '1 microsecond')`,
  parameters: { spans: rowsOf(span) },
});
