/** The history of one series, for `tidemark why` and the dashboard. */

import { TidemarkError } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { type Database, timestamp } from '../db/database.ts';
import type { LedgerEntry } from '../ledger/ledger.ts';
import { readOtherNames } from '../series/aliases.ts';
import { type SeriesRow, seriesColumns, toSeriesKey } from '../series/series.ts';

export type PastFetch = Omit<LedgerEntry, 'dataset' | 'seriesId' | 'revised' | 'bytes'>;

export interface PastRevision {
  readonly timeMs: EpochMs;
  readonly seenAtMs: EpochMs;
  /** Column names and their previous values, as text. */
  readonly before: Readonly<Record<string, string>>;
}

export interface PastRejection {
  readonly seenAtMs: EpochMs;
  readonly reason: string;
  readonly raw: string;
}

export interface SeriesHistory {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly createdMs: EpochMs;
  /** Null: it is tracked. */
  readonly untrackedMs: EpochMs | null;
  readonly tracked: { readonly startMs: EpochMs; readonly endMs: EpochMs | null };
  /** The earliest time with a point, stored or shown by a probe; null: unknown. */
  readonly beginsMs: EpochMs | null;
  readonly blocked: { readonly untilMs: EpochMs; readonly message: string } | null;
  /** Newest first, limited. */
  readonly fetches: readonly PastFetch[];
  readonly revisions: readonly PastRevision[];
  readonly rejections: readonly PastRejection[];
}

/**
 * Finds series by ids and quoted names. Words that are neither make up one name: `binance bitcoin/tether m1`.
 *
 * @throws TidemarkError UNKNOWN_SERIES
 */
export async function findSeries(database: Database, words: readonly string[]): Promise<number[]> {
  const areApart = words.every((word) => /^\d+$/.test(word) || /\s/.test(word.trim()));
  const names = areApart ? words : [words.join(' ')];
  const ids: number[] = [];
  for (const name of names) ids.push(await findSeriesByName(database, name));
  return [...new Set(ids)];
}

/** Every series, tracked or not, with its name as in `status`. */
export async function listSeriesNames(database: Database): Promise<{ readonly id: number; readonly name: string }[]> {
  const result = await database.pool.query<SeriesRow>(`select ${seriesColumns} from tidemark.series s order by id`);
  return result.rows.map((row) => ({ id: row.id, name: seriesName(toSeriesKey(row)) }));
}

const maxSuggested = 3;

/**
 * Finds a series by its id, or by its name as in `status`, also by the codes or ids that its source's market has besides.
 * Case is ignored where that leaves one.
 *
 * @throws TidemarkError BAD_ARGUMENT for several that differ in case alone.
 * @throws TidemarkError UNKNOWN_SERIES that suggests the names that contain these words, or else the nearest one.
 */
export async function findSeriesByName(database: Database, name: string): Promise<number> {
  const spelled = name.trim().replaceAll(/\s+/g, ' ');
  const wanted = spelled.toLowerCase();
  const names = await listSeriesNames(database);
  const exact = names.find((one) => String(one.id) === spelled || one.name === spelled);
  if (exact !== undefined) return exact.id;
  const other = (await readOtherNames(database.pool)).find((one) => one.name.toLowerCase() === wanted);
  if (other !== undefined) return other.id;
  const [found, another] = names.filter((one) => one.name.toLowerCase() === wanted);
  if (found !== undefined && another === undefined) return found.id;
  if (found !== undefined && another !== undefined)
    throw new TidemarkError('BAD_ARGUMENT', `several series are named ${JSON.stringify(spelled)} but for case`, {
      remedy: `did you mean ${JSON.stringify(found.name)} or ${JSON.stringify(another.name)}?`,
    });
  const near = await database.pool.query<{ near: string[] }>('select tidemark.near_names($1, $2) as near', [
    wanted,
    names.map((one) => one.name),
  ]);
  const [nearest] = near.rows[0]?.near ?? [];
  // Of a part of a name, such as `binance bitcoin`, the first few that contain it.
  const typed = wanted.split(/[ /]/);
  const containing = names.filter((one) => typed.every((word) => one.name.toLowerCase().includes(word)));
  const suggested =
    /^\d*$/.test(wanted) || containing.length === 0
      ? [nearest].filter((one) => one !== undefined)
      : containing.slice(0, maxSuggested).map((one) => one.name);
  const more = containing.length > maxSuggested ? `, or one of ${containing.length - maxSuggested} others` : '';
  throw new TidemarkError(
    'UNKNOWN_SERIES',
    `no series has the id or the name ${JSON.stringify(name.slice(0, 200))}`,
    suggested.length === 0
      ? {}
      : { remedy: `did you mean ${suggested.map((one) => JSON.stringify(one)).join(' or ')}${more}?` },
  );
}

/** @throws TidemarkError UNKNOWN_SERIES */
export async function readSeriesHistory(
  database: Database,
  query: { seriesId: number; nowMs: EpochMs; most: number },
): Promise<SeriesHistory> {
  const { seriesId, nowMs, most } = query;
  const result = await database.pool.query<
    SeriesRow & {
      created_at: EpochMs;
      untracked_at: EpochMs | null;
      tracked_from: EpochMs;
      tracked_to: EpochMs | null;
      begins: EpochMs | null;
      blocked_until: EpochMs | null;
      blocked_message: string | null;
    }
  >(
    `select ${seriesColumns}, created_at, untracked_at, lower(tracked) as tracked_from, upper(tracked) as tracked_to,
            least(earliest, begins) as begins, case when blocked_until > $2 then blocked_until end as blocked_until,
            coalesce(blocked_message, 'refused') as blocked_message
     from tidemark.series s where id = $1`,
    [seriesId, timestamp(nowMs)],
  );
  const [row] = result.rows;
  if (row === undefined) throw new TidemarkError('UNKNOWN_SERIES', `no series has the id ${seriesId}`);
  return {
    seriesId,
    series: toSeriesKey(row),
    createdMs: row.created_at,
    untrackedMs: row.untracked_at,
    tracked: { startMs: row.tracked_from, endMs: row.tracked_to },
    beginsMs: row.begins,
    blocked:
      row.blocked_until === null ? null : { untilMs: row.blocked_until, message: row.blocked_message ?? 'refused' },
    fetches: await readFetches(database, seriesId, most),
    revisions: await readRevisions(database, seriesId, most),
    rejections: await readRejections(database, seriesId, most),
  };
}

async function readFetches(database: Database, seriesId: number, most: number): Promise<PastFetch[]> {
  const result = await database.pool.query<
    Omit<PastFetch, 'range'> & { startMs: EpochMs | null; endMs: EpochMs | null }
  >(
    `select time as "timeMs", lower(range) as "startMs", upper(range) as "endMs", lane, attempt, verdict, status, fresh,
            changed, unchanged, rejected, duration_ms as "durationMs", error, source
     from tidemark.fetches where series_id = $1 order by time desc limit $2`,
    [seriesId, most],
  );
  return result.rows.map(({ startMs, endMs, ...row }) => ({
    ...row,
    range: startMs === null || endMs === null ? null : { startMs, endMs },
  }));
}

async function readRevisions(database: Database, seriesId: number, most: number): Promise<PastRevision[]> {
  const result = await database.pool.query<PastRevision>(
    `select time as "timeMs", seen_at as "seenAtMs",
            (select jsonb_object_agg(key, value) from jsonb_each_text(before)) as before
     from tidemark.point_revisions where series_id = $1 order by seen_at desc, time desc limit $2`,
    [seriesId, most],
  );
  return result.rows;
}

async function readRejections(database: Database, seriesId: number, most: number): Promise<PastRejection[]> {
  const result = await database.pool.query<PastRejection>(
    `select seen_at as "seenAtMs", reason, raw from tidemark.quarantine
     where series_id = $1 order by seen_at desc, id desc limit $2`,
    [seriesId, most],
  );
  return result.rows;
}
