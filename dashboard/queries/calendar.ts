/** What the calendar of coverage is made of: ranges with the number of series that have them. Points are never read. */

import type { CalendarRanges } from '../../model/calendar.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, listOf, nullable, oneOf, statement, time } from '../../store/db/statement.ts';
import { atAndGrace, nowAndGrace } from '../../store/series/gaps.ts';

/** @param query.seriesId null: all tracked series. */
export async function readCalendarRanges(
  database: Database,
  { nowMs, graceMs, seriesId }: { nowMs: EpochMs; graceMs: number; seriesId: number | null },
): Promise<CalendarRanges> {
  const seriesIds = seriesId === null ? null : [seriesId];
  const rows = await countedRanges.on(database.pool, { nowMs, graceMs, seriesIds });
  const of = (kind: keyof CalendarRanges) => rows.filter((row) => row.kind === kind);
  return {
    wanted: of('wanted'),
    missing: of('missing'),
    failed: of('failed'),
    awaiting: of('awaiting'),
    silent: of('silent'),
  };
}

const countedRanges = statement({
  name: 'dashboard-calendar',
  text: `
      with measured as (select * from tidemark.measured_series(${atAndGrace}, $seriesIds)), ranges as (
        select 'wanted' as kind, wanted as r from measured where not isempty(wanted)
        union all select 'missing', unnest(missing) from measured
        union all select 'failed', unnest(missing * failed) from measured where failed is not null
        union all select 'awaiting', unnest(missing * awaiting) from measured where awaiting is not null
        union all select 'silent', tstzrange(v.from_time, v.to_time)
                  from public.silences v join measured m on m.id = v.series_id
      )
      select kind, lower(r) as "startMs", upper(r) as "endMs", count(*)::int as series from ranges group by kind, r`,
  parameters: { ...nowAndGrace, seriesIds: nullable(listOf(int4)) },
  row: { kind: oneOf<keyof CalendarRanges>(), startMs: time, endMs: time, series: int4 },
});
