/** What verify found to differ, until a repair or a later verify finds it equal. */

import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { Range } from '../planning/ranges.ts';
import { arrayOf, type Database, timeRange } from './database.ts';
import { pointColumns } from './point-sql.ts';
import { type SeriesRow, seriesColumns, seriesOf } from './series.ts';

export interface Difference {
  readonly seriesId: number;
  readonly timeMs: EpochMs;
  readonly kind: 'missing_here' | 'missing_there' | 'changed';
  /** Values by column, digit by digit; null where there is no such point. */
  readonly here: Readonly<Record<string, string>> | null;
  readonly there: Readonly<Record<string, string>> | null;
}

/** A source of other data differs everywhere: what is listed is bounded, what is kept is not. */
const mostListed = 100_000;

/** The differences within some ranges, in order of series and time; of very many, the first hundred thousand. */
export async function differencesIn(
  database: Database,
  ranges: ReadonlyArray<Range & { readonly seriesId: number }>,
): Promise<Difference[]> {
  const texts = (column: string) =>
    `(select jsonb_object_agg(key, value) from jsonb_each_text(d.${column})) as ${column}`;
  const result = await database.pool.query<Difference>(
    `select d.series_id as "seriesId", d.time as "timeMs", d.kind, ${texts('here')}, ${texts('there')}
     from tidemark.differences d
     join (select series_id, range_agg(range) as ranges
           from unnest($1::int[], $2::tstzrange[]) as u (series_id, range) group by series_id) u
       on u.series_id = d.series_id and u.ranges @> d.time
     order by d.series_id, d.time limit ${mostListed}`,
    [
      arrayOf(ranges.map(({ seriesId }) => String(seriesId))),
      ranges.map(({ startMs, endMs }) => timeRange(startMs, endMs)),
    ],
  );
  return result.rows.map((row) => ({
    ...row,
    here: inColumnOrder(row.here),
    there: inColumnOrder(row.there),
  }));
}

/** As people read a candle: PostgreSQL keeps an object's names in an order of its own. */
function inColumnOrder(values: Difference['here']): Difference['here'] {
  if (values === null) return null;
  const columns = [...pointColumns.candles, ...pointColumns.asset_history];
  return Object.fromEntries(
    columns.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  );
}

export interface DifferingSeries {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Ascending. */
  readonly timesMs: readonly EpochMs[];
}

/** The periods that are known to differ, by series. @param seriesIds absent: of every series. */
export async function differingPeriods(
  database: Database,
  seriesIds: readonly number[] | undefined,
): Promise<DifferingSeries[]> {
  const result = await database.pool.query<SeriesRow & { times: EpochMs[] }>(
    `select ${seriesColumns}, array_agg((extract(epoch from d.time) * 1000)::bigint order by d.time) as times
     from tidemark.differences d join tidemark.series s on s.id = d.series_id
     where $1::int[] is null or s.id = any ($1)
     group by s.id order by s.id`,
    [seriesIds],
  );
  return result.rows.map((row) => ({
    seriesId: row.id,
    series: seriesOf(row),
    timesMs: row.times.map(Number),
  }));
}
