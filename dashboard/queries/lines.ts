/** The series list of the dashboard: one line for each tracked series, from its own row, never from points. */

import type { EpochMs, Range } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { recencyOf } from '../../planning/periods.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, int8, nullable, ranges, statement, text, time } from '../../store/db/statement.ts';
import { atAndGrace, nowAndGrace } from '../../store/series/gaps.ts';
import { seriesColumns, seriesKey, seriesNameSql } from '../../store/series/series.ts';
import { lengthsMs } from '../../store/status/completeness.ts';
import type { StoredLine } from './shapes.ts';

/** Lists the series in order of name. @param query.requestsFor number of the requests for ranges of a series. */
export async function readSeriesLines(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; requestsFor: (series: SeriesKey, ranges: readonly Range[]) => number },
): Promise<StoredLine[]> {
  const { nowMs, graceMs } = query;
  const rows = await lines.on(database.pool, { nowMs, graceMs });
  return rows.map(({ series, missing, askedFromMs, askedToMs, closedUpToMs, unaskedMs, refreshedMs, ...line }) => {
    const asked = askedFromMs === null || askedToMs === null ? [] : [{ startMs: askedFromMs, endMs: askedToMs }];
    return {
      ...line,
      interval: series.interval,
      ...recencyOf({ ...line, closedUpToMs, unaskedMs, refreshedMs }, query),
      requests: query.requestsFor(series, asked),
      requestsLeft: missing.length === 0 ? 0 : query.requestsFor(series, missing),
    };
  });
}

// Asked is the tracked and closed part without the time before the beginning; null: it is empty.
const lines = statement({
  name: 'dashboard-lines',
  text: `
      select ${seriesColumns}, ${seriesNameSql} as name, s.exchange_id as exchange,
             date_part('epoch', s.period)::bigint * 1000 as "periodMs",
             lower(s.tracked) as "fromMs", upper(s.tracked) as "toMs",
             ${lengthsMs.wanted} as "wantedMs", ${lengthsMs.confirmedEmpty} as "emptyMs",
             m.missing as "missingMs", m.gaps,
             ${lengthsMs.wanted} - m.missing as "coveredMs",
             s.missing as missing,
             lower(tstzmultirange(s.wanted) - s.before_beginning) as "askedFromMs", upper(s.wanted) as "askedToMs",
             ${lengthsMs.failed} as "failedMs", ${lengthsMs.beyondDepth} as "beyondDepthMs",
             ${lengthsMs.awaiting} as "awaitingMs",
             s.closed_up_to as "closedUpToMs", ${lengthsMs.unasked} as "unaskedMs", s.refreshed_at as "refreshedMs",
             s.points, s.newest as "newestMs", s.revised, stored.xmin::text as version,
             case when s.blocked_until > $nowMs then coalesce(s.blocked_message, 'refused') end as blocked
      from tidemark.measured_series(${atAndGrace}, null) s
      join tidemark.series stored on stored.id = s.id
      cross join lateral (
        select coalesce(sum(date_part('epoch', upper(r) - lower(r)) * 1000), 0)::bigint as missing, count(*) as gaps
        from unnest(s.missing) r
      ) m
      order by s.dataset desc, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.period`,
  parameters: nowAndGrace,
  row: {
    ...{ id: int4, series: seriesKey, name: text, exchange: nullable(text), periodMs: int8, fromMs: time },
    ...{ toMs: nullable(time), wantedMs: int8, emptyMs: int8, missingMs: int8, gaps: int8, coveredMs: int8 },
    ...{ missing: ranges, askedFromMs: nullable(time), askedToMs: nullable(time), failedMs: int8 },
    ...{ beyondDepthMs: int8, awaitingMs: int8, closedUpToMs: time, unaskedMs: int8, refreshedMs: nullable(time) },
    ...{ points: int8, newestMs: nullable(time) },
    ...{ revised: int8, version: text, blocked: nullable(text) },
  },
});
