/** Series with chosen points and coverage, and queries that return text. */

import pg from 'pg';
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

/** Tracks a series and stores its points; a candle's open, high, low and close are its price. @returns its id. */
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
  const values = [seriesId, points.map(({ time }) => time), points.map(({ price }) => price)];
  await database.pool.query(
    key.dataset === 'candles'
      ? `insert into tidemark.candle_points
         select $1, time, p, p, p, p, $4 from unnest($2::timestamptz[], $3::numeric[]) as u (time, p)`
      : `insert into tidemark.asset_history_points
         select $1, time, p from unnest($2::timestamptz[], $3::numeric[]) as u (time, p)`,
    key.dataset === 'candles' ? [...values, line.volume ?? '1'] : values,
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
