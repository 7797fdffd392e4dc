/** Series with chosen points and coverage, and queries that return text. */

import pg from 'pg';
import { datasetOf, marketDatasets } from '../../../model/datasets/index.ts';
import { type EpochMs, intervalMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import type { Database } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { markBehind } from './candles.ts';

export interface Line {
  readonly key: SeriesKey;
  readonly startMs: EpochMs;
  /** Null: tracked up to the present. */
  readonly endMs: EpochMs | null;
  /** The price of each period from `startMs` on; null: no point. */
  readonly prices: readonly (string | null)[];
  /** Volume of every candle; 1 by default. */
  readonly volume?: string;
  /** Half-open, in periods from `startMs`; the whole tracked range by default. */
  readonly covered?: readonly (readonly [number, number])[];
}

/** A series of each dataset of perpetuals, of the market `x a/tether:tether`. */
export const perpetuals = marketDatasets
  .filter((dataset) => dataset !== 'candles')
  .map((dataset) => ({
    ...{ dataset, exchange: 'x', baseId: 'a', quoteId: 'tether:tether', interval: 'h1' as const },
    knownAt: datasetOf(dataset).published.knownAt.name,
  }));

/** Tracks a series and stores its points; its price is each of its values. @returns its id. */
export async function storeLine(database: Database, line: Line): Promise<number> {
  const { key, startMs, prices } = line;
  const { seriesId } = await trackSeries(database, key, startMs, line.endMs);
  const at = (period: number) => timestamp(startMs + period * intervalMs[key.interval]);
  const covered = line.covered ?? [[0, prices.length]];
  await database.pool.query('update tidemark.series set covered = $2 where id = $1', [
    seriesId,
    `{${covered.map(([from, to]) => `[${at(from)},${at(to)})`).join(',')}}`,
  ]);
  const points = prices.flatMap((price, period) => (price === null ? [] : [{ time: at(period), price }]));
  const { table, columns } = datasetOf(key.dataset);
  const values = columns.map(({ name }) => (name === 'volume' ? (line.volume ?? '1') : 'p'));
  await database.pool.query(
    `insert into tidemark.${table} (series_id, time, ${columns.map(({ name }) => name).join(', ')})
     select $1, time, ${values.join(', ')} from unnest($2::timestamptz[], $3::numeric[]) as u (time, p)`,
    [seriesId, points.map(({ time }) => time), points.map(({ price }) => price)],
  );
  await markBehind(database, seriesId);
  return seriesId;
}

export interface Answer {
  /** The first columns of each row, as text: `a | b | -` where `-` is null. */
  readonly rows: string[];
  readonly notices: string[];
}

const sessions = new Map<string, pg.Pool>();

/** The sessions of a database in one time zone and role. They end with the database. */
function sessionsOf(url: string, timeZone: string, role: string | undefined): pg.Pool {
  const key = [url, timeZone, role].join(' ');
  const pool =
    sessions.get(key) ??
    new pg.Pool({
      connectionString: url,
      options: `-c timezone=${timeZone}${role === undefined ? '' : ` -c role=${role}`}`,
      types: { getTypeParser: () => (text: string | Buffer) => text },
      idleTimeoutMillis: 0,
      allowExitOnIdle: true,
    });
  if (!sessions.has(key)) pool.on('error', () => sessions.delete(key));
  sessions.set(key, pool);
  return pool;
}

/** Runs a query in a session whose time zone has daylight saving time by default. */
export async function ask(url: string, sql: string, timeZone = 'America/New_York', role?: string): Promise<Answer> {
  const notices: string[] = [];
  const note = ({ message, hint }: { message?: string | undefined; hint?: string | undefined }) =>
    notices.push(`${message}; ${hint}`);
  const client = await sessionsOf(url, timeZone, role).connect();
  client.on('notice', note);
  try {
    const result = await client.query<(string | null)[]>({ text: sql, rowMode: 'array' });
    return { rows: result.rows.map((row) => row.map((value) => value ?? '-').join(' | ')), notices };
  } finally {
    client.off('notice', note);
    client.release();
  }
}

/** Runs queries in UTC. @returns their rows. */
export function rowsIn(store: { readonly url: string }): (sql: string) => Promise<string[]> {
  return async (sql) => (await ask(store.url, sql, 'UTC')).rows;
}
