/**
 * What a lake has to know of each series: its covered months and when their points last changed. Never reads points.
 */

import type pg from 'pg';
import type { Range } from '../../model/ranges.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, int8, json, openRange, type RowOf, ranges, statement, text, time } from '../../store/db/statement.ts';
import { rejectedPeriods } from '../../store/ledger/quarantine.ts';
import { identity, identityColumns } from '../../store/series/series.ts';

/**
 * `covered` is the coverage without the periods for which only rejected rows came, and `changes` has the mark of the
 * newest change of each month's points, by name such as `2024-01`.
 */
const state = {
  ...{ ...identity, tracked: openRange, covered: ranges, confirmedEmpty: ranges },
  changes: json<Readonly<Record<string, string>>>(),
};
export type SeriesState = RowOf<typeof state>;

/** Series of a page: few enough to bound memory. */
const pageSeries = 200;

/** Reads the states of all series, by id. */
export async function* readSeriesStates(database: Database): AsyncGenerator<SeriesState> {
  for (let after = 0; ; ) {
    const page = await pageOfStates.on(database.pool, { after });
    yield* page;
    after = page.at(-1)?.seriesId ?? after;
    if (page.length < pageSeries) return;
  }
}

/** @throws Error when there is no such series. */
export async function readSeriesState(client: pg.PoolClient, seriesId: number): Promise<SeriesState> {
  const [found] = await oneState.on(client, { seriesId });
  if (found === undefined) throw new Error(`there is no series ${seriesId}`);
  return found;
}

const statesOf = (chosen: string) => `
     with chosen as materialized (select s.* from tidemark.series s where ${chosen})
     select ${identityColumns}, s.tracked,
            s.covered - ${rejectedPeriods('lower(s.covered)', 'upper(s.covered)')} as covered,
            s.confirmed_empty as "confirmedEmpty",
            (select coalesce(json_object_agg(to_char(m.month, 'YYYY-MM'),
                               to_char(m.changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), '{}')
             from tidemark.changed_months m where m.series_id = s.id) as changes
     from chosen s order by s.id`;

const pageOfStates = statement({
  name: 'lake-states',
  isPlannedAnew: true,
  text: statesOf(`s.id > $after order by s.id limit ${pageSeries}`),
  parameters: { after: int4 },
  row: state,
});

const oneState = statement({
  name: 'lake-state',
  isPlannedAnew: true,
  text: statesOf('s.id = $seriesId'),
  parameters: { seriesId: int4 },
  row: state,
});

/** Counts the revisions of a series' points. @returns by month, such as `2024-01`; absent: none. */
export async function countRevisions(
  client: pg.PoolClient,
  seriesId: number,
  range: Range,
): Promise<ReadonlyMap<string, number>> {
  const counted = await revisionsByMonth.on(client, { seriesId, ...range });
  return new Map(counted.map(({ month, revisions }) => [month, revisions]));
}

const revisionsByMonth = statement({
  name: 'revisions-by-month',
  isPlannedAnew: true,
  text: `select to_char(time, 'YYYY-MM') as month, count(*) as revisions from tidemark.point_revisions
         where series_id = $seriesId and time >= $startMs and time < $endMs group by 1`,
  parameters: { seriesId: int4, startMs: time, endMs: time },
  row: { month: text, revisions: int8 },
});
