/** The table of the write benchmark: it is emptied before each contestant, and checked after it. */

import { createHash } from 'node:crypto';
import { finished } from 'node:stream/promises';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { openDatabase } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import { benchRange, benchSeries, everyDay } from './days.ts';

export interface Expected {
  readonly rows: number;
  /** The rows as COPY reads and writes them, in order of series and time, one chunk for each day. */
  readonly chunks: readonly Buffer[];
  readonly digest: string;
}

export const copiedColumns = 'series_id, time, open, high, low, close, volume';

/** @param seriesIds of the series, in the order of `benchSeries`. */
export function expectedRows(days: number, seriesIds: readonly number[]): Expected {
  const chunks: Buffer[] = [];
  const hash = createHash('sha256');
  let rows = 0;
  let at = 0;
  for (const day of everyDay(days)) {
    const seriesId = seriesIds[Math.floor(at / days)] ?? 0;
    at += 1;
    const lines = day.rows.map((row) =>
      [seriesId, copiedTime(row.period), row.open, row.high, row.low, row.close, row.volume].join('\t'),
    );
    const chunk = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    hash.update(chunk);
    chunks.push(chunk);
    rows += day.rows.length;
  }
  return { rows, chunks, digest: hash.digest('hex') };
}

/** Lines that COPY reads and writes, in the order of series and time. */
export function expectedLines(lines: readonly string[]): Expected {
  const chunks: Buffer[] = [];
  for (let at = 0; at < lines.length; at += linesEach)
    chunks.push(
      Buffer.from(
        lines
          .slice(at, at + linesEach)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    );
  const hash = createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  return { rows: lines.length, chunks, digest: hash.digest('hex') };
}

const linesEach = 1440;

/** Deletes every point, coverage and request, and keeps the series with their ids. Then writes out dirty pages. */
export async function emptyTable(client: pg.Client): Promise<void> {
  await client.query('truncate tidemark.candle_points');
  await client.query('truncate tidemark.fetches');
  await client.query('truncate tidemark.point_revisions, tidemark.quarantine, tidemark.pending_windows');
  await client.query(
    `update tidemark.series
        set covered = '{}', uncovered_points = '{}', confirmed_empty = '{}', points = 0, earliest = null, newest = null,
            begins = null, before_beginning = '{}', probe_after = null, refreshed_at = null, most_rows = 0,
              most_rows_at = null,
            blocked_until = null, blocked_kind = null, blocked_message = null`,
  );
  await client.query('vacuum analyze tidemark.series');
  await client.query('checkpoint');
}

/**
 * Reads every stored row and compares all of them with the expected rows.
 *
 * @throws Error when a row is missing, unexpected, or differs in a digit.
 */
export async function checkTable(client: pg.Client, expected: Expected, contestant: string): Promise<void> {
  const rows = client.query(
    copyTo(`copy (select ${copiedColumns} from tidemark.candle_points order by series_id, time) to stdout`),
  );
  const hash = createHash('sha256');
  rows.on('data', (chunk: Buffer) => hash.update(chunk));
  await finished(rows);
  if (rows.rowCount !== expected.rows) {
    throw new Error(`${contestant} stored ${rows.rowCount} rows instead of ${expected.rows}`);
  }
  if (hash.digest('hex') !== expected.digest) {
    throw new Error(`${contestant} stored ${expected.rows} rows with other values`);
  }
}

/** Tracks `days` of every series. @returns their ids, in the order of `benchSeries`. */
export async function track(url: string, days: number): Promise<number[]> {
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 1,
    statementTimeoutMs: 60_000,
  });
  const { startMs, endMs } = benchRange(days);
  const ids: number[] = [];
  try {
    for (const series of benchSeries) {
      ids.push((await trackSeries(database, series, startMs, endMs)).seriesId);
    }
  } finally {
    await database.close();
  }
  return ids;
}

/** A connection that writes times as `expectedRows` does. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC -c datestyle=ISO' });
  await client.connect();
  return client;
}

/** A time as COPY writes it in UTC. */
export function copiedTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')}+00`;
}
