/** The sources of each series, and the markets of each source. */

import type pg from 'pg';
import { type EpochMs, hourMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { defaultSource, type SourceMarket } from '../../model/sources.ts';
import type { SymbolUse } from '../../planning/one-market.ts';
import type { SourcePlace } from '../../planning/source-share.ts';
import { type Database, inTransaction, timestamp } from '../db/database.ts';
import { isFailed } from './gap-reasons.ts';
import { type SeriesRow, seriesColumns, seriesNameSql, toSeriesKey } from './series.ts';

/** A source that gives a series, and the series' market in its terms. */
export interface SeriesSource {
  readonly source: string;
  /** Empty where a request names the exchange. */
  readonly symbol: string;
  /** Whether it gives whole months only. */
  readonly isArchive: boolean;
}

/** Of a series that nobody has given another source. */
export const defaultSources: readonly SeriesSource[] = [{ source: defaultSource, symbol: '', isArchive: false }];

/** The series that have another source than the default one, as SQL: an index has them. */
export const withOtherSources = `(select series_id from tidemark.series_sources where source <> '${defaultSource}')`;

/**
 * Whether the series of a row `s` belongs to a source, as SQL. It is another text for the default source.
 *
 * @param parameter of the source's name, such as `$8`.
 * @param which of its rows in `series_sources` count; absent: all.
 */
export function isOfSource(source: string, parameter: string, which = 'true'): string {
  // Uncorrelated, so that it is hashed: a subquery for each of 100,000 series would take a tenth of a second.
  const rows = `select series_id from tidemark.series_sources where source = ${parameter} and ${which}`;
  if (source !== defaultSource) return `s.id in (${rows})`;
  // Most series have it alone. Their rows need not be read, which would take as long again.
  return `(s.id not in ${withOtherSources} or s.id in (${rows} and series_id in ${withOtherSources}))`;
}

/** The part of a statement's name that tells the texts of {@link isOfSource}. */
export function nameOfText(source: string | undefined): string {
  return source === undefined ? 'of all' : source === defaultSource ? 'of default' : 'of one';
}

/**
 * Whether a deferred window `p` is one that a source preferred to this one could not give, as SQL.
 *
 * @param parameter of the source's name.
 */
export function isLackOfBetterSource(parameter: string): string {
  return `(${isFailed('p.reason')} and not p.of_covered and (p.series_id, p.source) in (
    select better.series_id, better.source from tidemark.series_sources better
    join tidemark.series_sources own on own.series_id = better.series_id and own.rank > better.rank
    where own.source = ${parameter} and own.series_id in ${withOtherSources}))`;
}

/** Whether the series of a deferred window `p` has a source after the one of the window, as SQL. */
const hasNext = `exists (
  select from tidemark.series_sources own join tidemark.series_sources next on next.series_id = own.series_id and next.rank > own.rank
  where own.series_id = p.series_id and own.source = p.source)`;

/** Whether the source after the one of a deferred window `p` is asked for it now, as SQL. */
export const isAskedOfNext = `(${isFailed('p.reason')} and not p.of_covered and ${hasNext})`;

/** The ranges of deferred windows `p` as JSON of {@link Range}, as SQL. */
const windowsJson = `json_agg(json_build_object('startMs', (extract(epoch from lower(p.range)) * 1000)::bigint,
                                               'endMs', (extract(epoch from upper(p.range)) * 1000)::bigint))`;

/** The part of a series that a source gives where others are preferred. */
export interface Share extends SourcePlace {
  readonly seriesId: number;
}

/** The shares of a source in tracked series that have several. */
export async function readShares(
  database: Database,
  source: string,
  nowMs: EpochMs,
): Promise<ReadonlyMap<number, Share>> {
  const result = await database.pool.query<Share>({
    name: 'shares-of-source',
    text: `select own.series_id as "seriesId", coalesce(of.better, '{}') as better, of."hasNext", coalesce(l.lacks, '[]') as lacks
           from tidemark.series_sources own
           join tidemark.series s on s.id = own.series_id and s.untracked_at is null
           join lateral (
             select count(*) as count, max(rank) > own.rank as "hasNext",
                    array_agg(source order by rank)
                      filter (where rank < own.rank and coalesce(blocked_until <= $2, true)) as better
             from tidemark.series_sources where series_id = own.series_id
           ) of on of.count > 1
           left join lateral (
             select ${windowsJson} as lacks
             from tidemark.pending_windows p where p.series_id = own.series_id and ${isLackOfBetterSource('$1')}
           ) l on true
           where own.source = $1 and own.series_id in ${withOtherSources}`,
    values: [source, timestamp(nowMs)],
  });
  return new Map(result.rows.map((row) => [row.seriesId, row]));
}

/** Replaces the sources of a series. */
export async function setSeriesSources(
  database: Database,
  seriesId: number,
  sources: readonly SeriesSource[],
): Promise<void> {
  await inTransaction(database, (client) => writeSeriesSources(client, seriesId, sources));
}

/** The same, in the transaction of the client. */
export async function writeSeriesSources(
  client: pg.PoolClient,
  seriesId: number,
  sources: readonly SeriesSource[],
): Promise<void> {
  await client.query('select from tidemark.series where id = $1 for update', [seriesId]);
  // Not updated in place: a source that changes its rank is there twice for a moment, which its key forbids.
  const before = await client.query<{ source: string; symbol: string; until: string | null }>(
    `delete from tidemark.series_sources where series_id = $1 returning source, symbol, blocked_until::text as until`,
    [seriesId],
  );
  const blocked = new Map(before.rows.map((row) => [`${row.source} ${row.symbol}`, row.until]));
  await client.query(
    `insert into tidemark.series_sources (series_id, rank, source, symbol, archive, blocked_until)
     select $1, place, source, symbol, archive, until
     from unnest($2::text[], $3::text[], $4::boolean[], $5::timestamptz[]) with ordinality as u (source, symbol, archive, until, place)`,
    [
      seriesId,
      sources.map(({ source }) => source),
      sources.map(({ symbol }) => symbol),
      sources.map(({ isArchive }) => isArchive),
      sources.map(({ source, symbol }) => blocked.get(`${source} ${symbol}`) ?? null),
    ],
  );
}

/** The symbols of the series that are tracked or have points. */
export async function readSymbolUses(
  client: pg.Pool | pg.PoolClient,
  sources: readonly string[],
): Promise<SymbolUse[]> {
  if (sources.length === 0) return [];
  const result = await client.query<SeriesRow & Omit<SymbolUse, 'series'>>(
    `select ${seriesColumns}, x.source, x.symbol, s.untracked_at is null as "isTracked",
            exists (select from tidemark.source_symbols m where (m.source, m.symbol) = (x.source, x.symbol)) as "isListed"
     from tidemark.series_sources x join tidemark.series s on s.id = x.series_id
     where x.source = any ($1) and s.dataset = 'candles' and (s.untracked_at is null or s.points > 0)
     order by s.id`,
    [sources],
  );
  return result.rows.map((row) => {
    const { source, symbol, isTracked, isListed } = row;
    return { series: toSeriesKey(row), source, symbol, isTracked, isListed };
  });
}

/** The source of each series that answers any request: the first that is no archive. */
export async function readSourcesOf(
  database: Database,
  seriesIds: readonly number[],
): Promise<ReadonlyMap<number, SeriesSource>> {
  const result = await database.pool.query<SeriesSource & { id: number }>(
    `select distinct on (series_id) series_id as id, source, symbol, archive as "isArchive" from tidemark.series_sources
     where series_id = any ($1) order by series_id, archive, rank`,
    [seriesIds],
  );
  return new Map(result.rows.map(({ id, ...source }) => [id, source]));
}

/** The order of sources in a list, as SQL: the default one comes first. */
const inOrder = `source <> '${defaultSource}', source`;

/** Every source of some series. */
export async function readAllSources(database: Database, seriesIds: readonly number[]): Promise<string[]> {
  const result = await database.pool.query<{ source: string }>(
    `select source from tidemark.series_sources where series_id = any ($1::int[]) group by source order by ${inOrder}`,
    [seriesIds],
  );
  return result.rows.map(({ source }) => source);
}

/** Which of the series only this source gives; archives do not count. */
export async function readSeriesOnlyOf(
  database: Database,
  source: string,
  seriesIds: readonly number[],
): Promise<ReadonlySet<number>> {
  const result = await database.pool.query<{ id: number }>(
    `select series_id as id from tidemark.series_sources where series_id = any ($1::int[])
     group by series_id having bool_or(source = $2) and bool_and(archive or source = $2)`,
    [seriesIds, source],
  );
  return new Set(result.rows.map(({ id }) => id));
}

/** The source that answers any request, of every series with {@link withOtherSources}, by the series' name. */
export async function readNamedSeries(database: Database): Promise<ReadonlyMap<string, string>> {
  const result = await database.pool.query<{ name: string; source: string }>({
    name: 'named-series',
    text: `select distinct on (s.id) ${seriesNameSql} as name, x.source
           from tidemark.series_sources x join tidemark.series s on s.id = x.series_id
           where x.series_id in ${withOtherSources}
           order by s.id, x.archive, x.rank`,
  });
  return new Map(result.rows.map(({ name, source }) => [name, source]));
}

/** A source of a series, in order of preference. */
export interface GivingSource extends SeriesSource {
  /** What it could not give and is not asked for again yet, if there is a source after it. */
  readonly lacks: readonly Range[];
}

/**
 * The sources of every series with {@link withOtherSources}, except those that do not know it, by the series' name.
 */
export async function readNamedSources(
  database: Database,
  nowMs: EpochMs,
): Promise<ReadonlyMap<string, readonly GivingSource[]>> {
  const result = await database.pool.query<{ name: string; sources: GivingSource[] }>({
    name: 'named-sources',
    text: `with lacking as materialized (
             select p.series_id, p.source, ${windowsJson} as lacks from tidemark.pending_windows p
             where p.retry_at > $1 and ${isAskedOfNext} group by p.series_id, p.source
           )
           select ${seriesNameSql} as name,
                  coalesce(json_agg(json_build_object('source', x.source, 'symbol', x.symbol, 'isArchive', x.archive,
                                                      'lacks', coalesce(l.lacks, '[]')) order by x.rank)
                             filter (where coalesce(x.blocked_until <= $1, true)), '[]') as sources
           from tidemark.series_sources x join tidemark.series s on s.id = x.series_id
           left join lacking l on l.series_id = x.series_id and l.source = x.source
           where x.series_id in ${withOtherSources}
           group by s.id`,
    values: [timestamp(nowMs)],
  });
  return new Map(result.rows.map(({ name, sources }) => [name, sources]));
}

/** The market of a series in a source's terms; null: the source does not give it. */
export async function readSymbol(database: Database, seriesId: number, source: string): Promise<string | null> {
  const result = await database.pool.query<{ symbol: string }>({
    name: 'symbol-of-series',
    text: 'select symbol from tidemark.series_sources where series_id = $1 and source = $2',
    values: [seriesId, source],
  });
  return result.rows[0]?.symbol ?? null;
}

/** The sources of series, in order of preference. @param seriesIds absent: of all series. */
export async function readSourceLists(
  client: pg.Pool | pg.PoolClient,
  seriesIds: readonly number[] | null = null,
): Promise<ReadonlyMap<number, readonly SeriesSource[]>> {
  const result = await client.query<SeriesSource & { id: number }>(
    `select series_id as id, source, symbol, archive as "isArchive" from tidemark.series_sources
     where $1::int[] is null or series_id = any ($1) order by series_id, rank`,
    [seriesIds],
  );
  const lists = new Map<number, SeriesSource[]>();
  for (const { id, ...source } of result.rows) lists.set(id, [...(lists.get(id) ?? []), source]);
  return lists;
}

/** The symbols of every series that a source gives. */
export async function readSymbols(database: Database, source: string): Promise<ReadonlyMap<number, string>> {
  const result = await database.pool.query<{ id: number; symbol: string }>(
    'select series_id as id, symbol from tidemark.series_sources where source = $1',
    [source],
  );
  return new Map(result.rows.map(({ id, symbol }) => [id, symbol]));
}

/** The sources of tracked series, the default one first. */
export async function sourcesInUse(database: Database): Promise<string[]> {
  const result = await database.pool.query<{ source: string }>({
    name: 'sources-in-use',
    // Reads a few entries of the index for each source, and not every series.
    text: `with recursive named (source) as (
             select min(source) from tidemark.series_sources
             union all
             select (select min(x.source) from tidemark.series_sources x where x.source > n.source) from named n
             where n.source is not null
           )
           select source from named n
           where source is not null and (
             select true from tidemark.series_sources x where x.source = n.source
               and (select s.untracked_at is null from tidemark.series s where s.id = x.series_id)
             order by x.series_id limit 1)
           order by ${inOrder}`,
  });
  return result.rows.map(({ source }) => source);
}

/**
 * The sources of tracked series, and whether a series of each has periods that close from now on. The default source
 * gives the lists too: it is there while they are tracked or polled.
 */
export async function readFollowedSources(
  database: Database,
  nowMs: EpochMs,
): Promise<{ readonly source: string; readonly isFollowed: boolean }[]> {
  const result = await database.pool.query<{ source: string; isFollowed: boolean }>({
    name: 'followed-sources',
    text: `with tracked as materialized (
             select source, bool_or(upper_inf(s.tracked) or upper(s.tracked) > $1) as followed
             from tidemark.series s join tidemark.series_sources x on x.series_id = s.id
             where s.untracked_at is null group by source
           ), found as (
             select * from tracked
             union all
             select '${defaultSource}', false
             where not exists (select from tracked where source = '${defaultSource}')
               and (exists (select from tidemark.lists where untracked_at is null)
                    or exists (select from tidemark.fetches where time > $2 and lane = 'poll'))
           )
           select source, followed as "isFollowed" from found order by ${inOrder}`,
    values: [timestamp(nowMs), timestamp(nowMs - hourMs)],
  });
  return result.rows;
}

export interface SourceShareOf {
  /** `file`, or the name of a source; null: not recorded. */
  readonly source: string | null;
  /** From the first to the last covered period. */
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
  readonly coveredMs: number;
}

/** What each source gave of a series last, by the first time. */
export async function readSourceShares(database: Database, seriesId: number): Promise<SourceShareOf[]> {
  const result = await database.pool.query<SourceShareOf>(
    `select source, min(from_time) as "startMs", max(to_time) as "endMs",
            (sum(extract(epoch from to_time - from_time)) * 1000)::bigint as "coveredMs"
     from public.source_coverage where series_id = $1 group by source order by 2, source nulls first`,
    [seriesId],
  );
  return result.rows;
}

export interface SourceUse {
  readonly source: string;
  /** Tracked series. */
  readonly series: number;
  readonly lastMinute: number;
  readonly lastRequestMs: EpochMs | null;
}

/** The use of every source that tracked series or the recent ledger have. */
export async function readSourceUse(database: Database, nowMs: EpochMs): Promise<SourceUse[]> {
  const result = await database.pool.query<SourceUse>(
    `with tracked as (
       select source, count(*) as series from tidemark.series_sources join tidemark.series s on s.id = series_id
       where s.untracked_at is null group by source
     ), asked as (
       select source, count(*) filter (where time > $1::timestamptz - interval '1 minute') as requests, max(time) as last
       from tidemark.fetches where time > $1::timestamptz - interval '1 day' group by source
     )
     select source, coalesce(series, 0) as series, coalesce(requests, 0) as "lastMinute", last as "lastRequestMs"
     from tracked full join asked using (source)`,
    [timestamp(nowMs)],
  );
  return result.rows;
}

/** Whether the markets of any of the sources are stored. */
export async function areAnyListed(database: Database, sources: readonly string[]): Promise<boolean> {
  if (sources.length === 0) return false;
  const result = await database.pool.query('select from tidemark.source_symbols where source = any ($1) limit 1', [
    sources,
  ]);
  return result.rowCount === 1;
}

/** Stores a source's list of markets in place of the one before. */
export async function storeMarkets(
  database: Database,
  source: string,
  markets: readonly SourceMarket[],
  nowMs: EpochMs,
): Promise<void> {
  await database.pool.query(
    `with gone as (delete from tidemark.source_symbols where source = $1 and symbol <> all ($2::text[]))
     insert into tidemark.source_symbols (source, symbol, base, quote, listed_at, trading, seen_at)
     -- A source may list a symbol twice.
     select distinct on (symbol) $1, symbol, base, quote, to_timestamp(listed / 1000), trading, $7
     from unnest($2::text[], $3::text[], $4::text[], $5::double precision[], $6::boolean[])
       as u (symbol, base, quote, listed, trading)
     order by symbol, trading desc
     on conflict (source, symbol) do update
       set base = excluded.base, quote = excluded.quote, listed_at = excluded.listed_at, trading = excluded.trading,
           seen_at = excluded.seen_at`,
    [
      source,
      markets.map(({ symbol }) => symbol),
      markets.map(({ base }) => base),
      markets.map(({ quote }) => quote),
      markets.map(({ listedMs }) => listedMs),
      markets.map(({ isTrading }) => isTrading),
      timestamp(nowMs),
    ],
  );
}

export interface StoredMarket extends SourceMarket {
  readonly seenAtMs: EpochMs;
}

/** The stored markets of a source, of one pair those that trade first; none: the list was never read. */
export async function readMarkets(client: pg.Pool | pg.PoolClient, source: string): Promise<StoredMarket[]> {
  const result = await client.query<StoredMarket>(
    `select symbol, base, quote, listed_at as "listedMs", trading as "isTrading", seen_at as "seenAtMs"
     from tidemark.source_symbols where source = $1 order by base, quote, trading desc, symbol`,
    [source],
  );
  return result.rows;
}
