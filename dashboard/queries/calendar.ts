/** What the calendar of coverage is made of: ranges with the number of series that have them. Points are never read. */

import type { CalendarRanges, CountedRange } from '../../model/calendar.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { type Database, timestamp } from '../../store/db/database.ts';
import { atAndGrace } from '../../store/series/gaps.ts';

/** @param query.seriesId null: all tracked series. */
export async function readCalendarRanges(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; seriesId: number | null },
): Promise<CalendarRanges> {
  const kinds = ['wanted', 'missing', 'failed', 'awaiting', 'silent'] as const;
  const result = await database.pool.query<CountedRange & { kind: (typeof kinds)[number] }>({
    name: 'dashboard-calendar',
    text: `
      with measured as (select * from tidemark.measured_series(${atAndGrace}, $3)), ranges as (
        select 'wanted' as kind, wanted as r from measured where not isempty(wanted)
        union all select 'missing', unnest(missing) from measured
        union all select 'failed', unnest(missing * failed) from measured where failed is not null
        union all select 'awaiting', unnest(missing * awaiting) from measured where awaiting is not null
        union all select 'silent', tstzrange(v.from_time, v.to_time) from public.silences v join measured m on m.id = v.series_id
      )
      select kind, lower(r) as "startMs", upper(r) as "endMs", count(*)::int as series from ranges group by kind, r`,
    values: [timestamp(query.nowMs), query.graceMs, query.seriesId === null ? null : [query.seriesId]],
  });
  const of = (kind: (typeof kinds)[number]) => result.rows.filter((row) => row.kind === kind);
  return {
    wanted: of('wanted'),
    missing: of('missing'),
    failed: of('failed'),
    awaiting: of('awaiting'),
    silent: of('silent'),
  };
}
