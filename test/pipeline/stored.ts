/** Reads the database as a user would, with every decimal as the text that PostgreSQL keeps. */

import { datasetOf } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { keyNames, keyOf, type SeriesKey } from '../../model/series.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import type { Database } from '../../store/db/database.ts';

/** The points of a series in the shape of the source's rows, oldest first. */
export async function storedPoints(database: Database, series: SeriesKey): Promise<object[]> {
  const { of, columns, timeField, published } = datasetOf(series.dataset);
  const values = columns.map(({ name, json }) => `${name}::text as "${json}"`);
  const key = keyNames[of].map((name, place) => `${name} = $${place + 1}`);
  const result = await database.pool.query<object>(
    `select ${values.join(', ')}, (extract(epoch from time) * 1000)::bigint as "${timeField}"
       from ${published.all.name} where ${key.join(' and ')} order by time`,
    keyOf(series),
  );
  return result.rows;
}

/** The rates of the snapshot at `timeMs` in the shape of the source's rows, ordered by id. */
export async function storedRates(database: Database, timeMs: EpochMs): Promise<object[]> {
  const result = await database.pool.query<object>(
    `select r.currency as id, r.symbol, c.currency_symbol as "currencySymbol", r.type,
            r.rate_usd::text as "rateUsd"
     from rates r join tidemark.currencies c using (currency)
     where r.time = to_timestamp($1::double precision / 1000) order by r.currency collate "C"`,
    [timeMs],
  );
  return result.rows;
}

export function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Row[] {
  return [...rows].sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
}

export async function coverageOf(database: Database, seriesId: number): Promise<Range[]> {
  const result = await database.pool.query<Range>(
    `select lower(r) as "startMs", upper(r) as "endMs"
     from tidemark.series s, unnest(s.covered) r where s.id = $1 order by r`,
    [seriesId],
  );
  return result.rows;
}

/** The simulator's answer for the whole range at its clock's time. */
export function truthOf(simulator: RunningSimulator, series: SeriesKey, range: Range): readonly object[] {
  return simulator.truth.points(series, range);
}

export interface Revision {
  readonly timeMs: EpochMs;
  readonly seenAtMs: EpochMs;
  /** Column and previous value, as text. */
  readonly before: Readonly<Record<string, string>>;
}

/** Overwritten values, ordered by time and then by when the change was seen. */
export async function revisionsOf(database: Database, seriesId: number): Promise<Revision[]> {
  const result = await database.pool.query<Revision>(
    `select r.time as "timeMs", r.seen_at as "seenAtMs",
            (select jsonb_object_agg(key, value) from jsonb_each_text(r.before)) as before
     from tidemark.point_revisions r where r.series_id = $1 order by r.time, r.seen_at`,
    [seriesId],
  );
  return result.rows;
}

/** The number of requests by verdict, from the ledger. */
export async function verdictsOf(database: Database): Promise<{ verdict: string; requests: number }[]> {
  const result = await database.pool.query<{ verdict: string; requests: number }>(
    'select verdict, count(*) as requests from tidemark.fetches group by verdict order by verdict',
  );
  return result.rows;
}
