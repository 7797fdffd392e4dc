/** The sources of each series, and the markets of each source. */

import type pg from 'pg';
import { type EpochMs, hourMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource, type SourceMarket, sourceText } from '../../model/sources.ts';
import type { SymbolUse } from '../../planning/one-market.ts';
import type { SourcePlace } from '../../planning/source-share.ts';
import { type Database, inTransaction } from '../db/database.ts';
import {
  bool,
  float8,
  int4,
  int8,
  json,
  listOf,
  nullable,
  type RowOf,
  rowsOf,
  statement,
  statementsBy,
  text,
  time,
} from '../db/statement.ts';
import { isFailed, isOfferedToNext } from './reason-sets.ts';
import { keyColumns, seriesKey, seriesNameSql, type TrackedSeries, writeTrackedSeries } from './series.ts';

/** A source that gives a series, and the series' market in its terms. */
export interface SeriesSource {
  readonly source: string;
  /** Empty where a request names the exchange. */
  readonly symbol: string;
  /** Whether it gives whole months only. */
  readonly isArchive: boolean;
}

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

/**
 * A statement for each text of {@link isOfSource}.
 *
 * @param make undefined: of all sources; `ofKind` is part of its name.
 */
export function byKindOfSource<Made>(make: (source: string | undefined, ofKind: string) => Made) {
  const kinds = { 'of all': undefined, 'of default': defaultSource, 'of one': 'one' };
  const made = statementsBy(['of all', 'of default', 'of one'], (kind: keyof typeof kinds) => make(kinds[kind], kind));
  return (source: string | undefined): Made =>
    made(source === undefined ? 'of all' : source === defaultSource ? 'of default' : 'of one');
}

/**
 * Whether a deferred window `p` is one that a source preferred to this one could not give, as SQL.
 *
 * @param parameter of the source's name.
 */
export function isLackOfBetterSource(parameter: string): string {
  return `(${isOfferedToNext('p.reason')} and not p.of_covered and (p.series_id, p.source) in (
    select better.series_id, better.source from tidemark.series_sources better
    join tidemark.series_sources own on own.series_id = better.series_id and own.rank > better.rank
    where own.source = ${parameter} and own.series_id in ${withOtherSources}))`;
}

/** Whether the series of a deferred window `p` has a source after the one of the window, as SQL. */
const hasNext = `exists (
  select from tidemark.series_sources own join tidemark.series_sources next on next.series_id = own.series_id and
    next.rank > own.rank
  where own.series_id = p.series_id and own.source = p.source)`;

/** Whether the source after the one of a deferred window `p` is asked for it now, as SQL. */
export const isAskedOfNext = `(${isOfferedToNext('p.reason')} and not p.of_covered and ${hasNext})`;

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
  const rows = await shares.on(database.pool, { source, now: nowMs });
  return new Map(rows.map((row) => [row.seriesId, row]));
}

const shares = statement({
  name: 'shares-of-source',
  text: `select own.series_id as "seriesId", coalesce(of.better, '{}') as better, of."hasNext",
                coalesce(l.lacks, '[]') as lacks
         from tidemark.series_sources own
         join tidemark.series s on s.id = own.series_id and s.untracked_at is null
         join lateral (
           select count(*) as count, max(rank) > own.rank as "hasNext",
                  array_agg(source order by rank)
                    filter (where rank < own.rank and coalesce(blocked_until <= $now, true)) as better
           from tidemark.series_sources where series_id = own.series_id
         ) of on of.count > 1
         left join lateral (
           select ${windowsJson} as lacks
           from tidemark.pending_windows p where p.series_id = own.series_id and ${isLackOfBetterSource('$source')}
         ) l on true
         where own.source = $source and own.series_id in ${withOtherSources}`,
  parameters: { source: text, now: time },
  row: { seriesId: int4, better: listOf(text), hasNext: bool, lacks: json<readonly Range[]>() },
});

/**
 * Tracks a series of these sources at once: a scheduler that plans between both would ask the default source for it.
 *
 * @param sources null: they stay as they are. @throws TidemarkError as {@link writeTrackedSeries}.
 */
export function trackSeriesOf(
  database: Database,
  sources: readonly SeriesSource[] | null,
  ...tracked: [series: SeriesKey, fromMs: EpochMs, toMs: EpochMs | null]
): Promise<TrackedSeries> {
  return inTransaction(database, async (client) => {
    const one = await writeTrackedSeries(client, ...tracked);
    if (sources !== null) await writeSeriesSources(client, one.seriesId, sources);
    return one;
  });
}

/** Replaces the sources of a series, in the transaction of the client. */
export async function writeSeriesSources(
  client: pg.PoolClient,
  seriesId: number,
  sources: readonly SeriesSource[],
): Promise<void> {
  await client.query('select from tidemark.series where id = $1 for update', [seriesId]);
  // Not updated in place: a source that changes its rank is there twice for a moment, which its key forbids.
  const before = await deleteSources.on(client, { seriesId });
  const blocked = new Map(before.map((row) => [`${row.source} ${row.symbol}`, row.until]));
  const rows = sources.map((one, place) => ({
    ...one,
    rank: place + 1,
    until: blocked.get(`${one.source} ${one.symbol}`) ?? null,
  }));
  await insertSources.on(client, { seriesId, rows });
  const known = new Set(before.map(({ source }) => source));
  // What the others could not give is asked of a new one at once.
  if (before.length > 0 && sources.some(({ source }) => !known.has(source)))
    await makeLackedDue.on(client, { seriesId });
}

const makeLackedDue = statement({
  name: 'make-lacked-due',
  text: `update tidemark.pending_windows set retry_at = now()
         where series_id = $seriesId and retry_at > now() and ${isFailed('reason')}`,
  parameters: { seriesId: int4 },
});

const deleteSources = statement({
  name: 'delete-series-sources',
  text: `delete from tidemark.series_sources where series_id = $seriesId
         returning source, symbol, blocked_until::text as until`,
  parameters: { seriesId: int4 },
  row: { source: text, symbol: text, until: nullable(text) },
});

const insertSources = statement({
  name: 'insert-series-sources',
  text: `insert into tidemark.series_sources (series_id, rank, source, symbol, archive, blocked_until)
         select $seriesId, rank, source, symbol, is_archive, until::timestamptz from $rows`,
  parameters: {
    seriesId: int4,
    rows: rowsOf({ rank: int4, source: text, symbol: text, isArchive: bool, until: nullable(text) }),
  },
});

/** The symbols of the series that are tracked or have points. */
export async function readSymbolUses(
  client: pg.Pool | pg.PoolClient,
  sources: readonly string[],
): Promise<SymbolUse[]> {
  if (sources.length === 0) return [];
  return symbolUses.on(client, { sources });
}

const symbolUses = statement({
  name: 'symbol-uses',
  isPlannedAnew: true,
  text: `
    select ${keyColumns}, x.source, x.symbol, s.untracked_at is null as "isTracked",
           exists (select from tidemark.source_symbols m
                   where (m.source, m.symbol) = (x.source, x.symbol)
                     and m.gone_since is null) as "isListed"
    from tidemark.series_sources x join tidemark.series s on s.id = x.series_id
    where x.source = any ($sources) and s.exchange_id is not null and (s.untracked_at is null or s.points > 0)
    order by s.id`,
  parameters: { sources: listOf(text) },
  row: { series: seriesKey, source: text, symbol: text, isTracked: bool, isListed: bool },
});

/** The source of each series that answers any request: the first that is no archive. */
export async function readSourcesOf(
  database: Database,
  seriesIds: readonly number[],
): Promise<ReadonlyMap<number, SeriesSource>> {
  const rows = await sourcesOf.on(database.pool, { seriesIds });
  return new Map(rows.map(({ id, ...source }) => [id, source]));
}

const sourcesOf = statement({
  name: 'sources-of-series',
  isPlannedAnew: true,
  text: `
    select distinct on (series_id) series_id as id, source, symbol, archive as "isArchive" from tidemark.series_sources
    where series_id = any ($seriesIds) order by series_id, archive, rank`,
  parameters: { seriesIds: listOf(int4) },
  row: { id: int4, source: text, symbol: text, isArchive: bool },
});

/** The order of sources in a list, as SQL: the default one comes first. */
const inOrder = `source <> '${defaultSource}', source`;

/** Every source of some series. */
export async function readAllSources(database: Database, seriesIds: readonly number[]): Promise<string[]> {
  const rows = await allSources.on(database.pool, { seriesIds });
  return rows.map(({ source }) => source);
}

const allSources = statement({
  name: 'all-sources-of-series',
  isPlannedAnew: true,
  text: `select source from tidemark.series_sources
         where series_id = any ($seriesIds) group by source order by ${inOrder}`,
  parameters: { seriesIds: listOf(int4) },
  row: { source: text },
});

/** The source that answers any request, of every series with {@link withOtherSources}, by the series' name. */
export async function readNamedSeries(database: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await namedSeries.on(database.pool, {});
  return new Map(rows.map(({ name, source }) => [name, source]));
}

const namedSeries = statement({
  name: 'named-series',
  text: `select distinct on (s.id) ${seriesNameSql} as name, x.source
         from tidemark.series_sources x join tidemark.series s on s.id = x.series_id
         where x.series_id in ${withOtherSources}
         order by s.id, x.archive, x.rank`,
  row: { name: text, source: text },
});

/** A source of a series, in order of preference. */
export interface GivingSource extends SeriesSource {
  /** What it could not give and is not asked for again yet, if there is a source after it. */
  readonly lacks: readonly Range[];
}

/** The sources of every series with {@link withOtherSources}, except those that do not know it, by the series' name. */
export async function readNamedSources(
  database: Database,
  nowMs: EpochMs,
): Promise<ReadonlyMap<string, readonly GivingSource[]>> {
  const rows = await namedSources.on(database.pool, { now: nowMs });
  return new Map(rows.map(({ name, sources }) => [name, sources]));
}

const namedSources = statement({
  name: 'named-sources',
  text: `
    with lacking as materialized (
      select p.series_id, p.source, ${windowsJson} as lacks from tidemark.pending_windows p
      where p.retry_at > $now and ${isAskedOfNext} group by p.series_id, p.source
    )
    select ${seriesNameSql} as name,
           coalesce(json_agg(json_build_object('source', x.source, 'symbol', x.symbol, 'isArchive', x.archive,
                                               'lacks', coalesce(l.lacks, '[]')) order by x.rank)
                      filter (where coalesce(x.blocked_until <= $now, true)), '[]') as sources
    from tidemark.series_sources x join tidemark.series s on s.id = x.series_id
    left join lacking l on l.series_id = x.series_id and l.source = x.source
    where x.series_id in ${withOtherSources}
    group by s.id`,
  parameters: { now: time },
  row: { name: text, sources: json<readonly GivingSource[]>() },
});

/** The market of a series in a source's terms; null: the source does not give it. */
export async function readSymbol(database: Database, seriesId: number, source: string): Promise<string | null> {
  const [found] = await symbolOfSeries.on(database.pool, { seriesId, source });
  return found?.symbol ?? null;
}

const symbolOfSeries = statement({
  name: 'symbol-of-series',
  text: 'select symbol from tidemark.series_sources where series_id = $seriesId and source = $source',
  parameters: { seriesId: int4, source: text },
  row: { symbol: text },
});

/** The sources of series, in order of preference. @param seriesIds absent: of all series. */
export async function readSourceLists(
  client: pg.Pool | pg.PoolClient,
  seriesIds: readonly number[] | null = null,
): Promise<ReadonlyMap<number, readonly SeriesSource[]>> {
  const lists = new Map<number, SeriesSource[]>();
  for (const { id, ...source } of await sourceLists.on(client, { seriesIds }))
    lists.set(id, [...(lists.get(id) ?? []), source]);
  return lists;
}

/** Of the sources of a series, those that are asked for any of its periods: not its archives. */
export function askableIn(list: readonly { readonly source: string; readonly isArchive: boolean }[]): string[] {
  return list.filter(({ isArchive }) => !isArchive).map(({ source }) => source);
}

const sourceLists = statement({
  name: 'source-lists',
  isPlannedAnew: true,
  text: `select series_id as id, source, symbol, archive as "isArchive" from tidemark.series_sources
         where $seriesIds is null or series_id = any ($seriesIds) order by series_id, rank`,
  parameters: { seriesIds: nullable(listOf(int4)) },
  row: { id: int4, source: text, symbol: text, isArchive: bool },
});

/** The symbols of every series that a source gives. */
export async function readSymbols(database: Database, source: string): Promise<ReadonlyMap<number, string>> {
  const rows = await symbolsOfSource.on(database.pool, { source });
  return new Map(rows.map(({ id, symbol }) => [id, symbol]));
}

const symbolsOfSource = statement({
  name: 'symbols-of-source',
  isPlannedAnew: true,
  text: 'select series_id as id, symbol from tidemark.series_sources where source = $source',
  parameters: { source: text },
  row: { id: int4, symbol: text },
});

/** The sources of tracked series, the default one first. */
export async function sourcesInUse(database: Database): Promise<string[]> {
  const rows = await usedSources.on(database.pool, {});
  return rows.map(({ source }) => source);
}

// Reads a few entries of the index for each source, and not every series.
const usedSources = statement({
  name: 'sources-in-use',
  text: `
    with recursive named (source) as (
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
  row: { source: text },
});

/**
 * The sources of tracked series, and whether a series of each has periods that close from now on. The default source
 * gives the lists too: it is there while they are tracked or polled.
 */
export function readFollowedSources(database: Database, nowMs: EpochMs) {
  return followedSources.on(database.pool, { now: nowMs, hourAgo: nowMs - hourMs });
}

/** How sources are called in a sentence, as the headline calls them. */
export async function readSourceTexts(database: Database, nowMs: EpochMs): Promise<(source: string) => string> {
  const areSeveral = (await readFollowedSources(database, nowMs)).length > 1;
  return (source) => sourceText(source, areSeveral);
}

const followedSources = statement({
  name: 'followed-sources',
  text: `
    with tracked as materialized (
      select source, bool_or(upper_inf(s.tracked) or upper(s.tracked) > $now) as followed
      from tidemark.series s join tidemark.series_sources x on x.series_id = s.id
      where s.untracked_at is null group by source
    ), found as (
      select * from tracked
      union all
      select '${defaultSource}', false
      where not exists (select from tracked where source = '${defaultSource}')
        and (exists (select from tidemark.lists where untracked_at is null)
             or exists (select from tidemark.fetches where time > $hourAgo and lane = 'poll'))
    )
    select source, followed as "isFollowed" from found order by ${inOrder}`,
  parameters: { now: time, hourAgo: time },
  row: { source: text, isFollowed: bool },
});

/**
 * What each source gave of a series last, by the first time. `source` may be `file`; null: not recorded. The range is
 * from the first to the last covered period.
 */
export const readSourceShares = statement({
  name: 'source-shares',
  text: `
    select source, min(from_time) as "startMs", max(to_time) as "endMs",
           (sum(extract(epoch from to_time - from_time)) * 1000)::bigint as "coveredMs"
    from public.source_coverage where series_id = $seriesId group by source order by 2, source nulls first`,
  parameters: { seriesId: int4 },
  row: { source: nullable(text), startMs: time, endMs: time, coveredMs: int8 },
});

/** The use of every source that tracked series or the recent ledger have. `series` are the tracked ones. */
export const readSourceUse = statement({
  name: 'source-use',
  isPlannedAnew: true,
  text: `
    with tracked as (
      select source, count(*) as series from tidemark.series_sources join tidemark.series s on s.id = series_id
      where s.untracked_at is null group by source
    ), asked as (
      select source, count(*) filter (where time > $nowMs - interval '1 minute') as requests, max(time) as last
      from tidemark.fetches where time > $nowMs - interval '1 day' group by source
    )
    select source, coalesce(series, 0) as series, coalesce(requests, 0) as "lastMinute", last as "lastRequestMs"
    from tracked full join asked using (source)`,
  parameters: { nowMs: time },
  row: { source: text, series: int8, lastMinute: int8, lastRequestMs: nullable(time) },
});

/** Whether the markets of any of the sources are stored. */
export async function areAnyListed(database: Database, sources: readonly string[]): Promise<boolean> {
  if (sources.length === 0) return false;
  const found = await oneListed.on(database.pool, { sources });
  return found.length === 1;
}

const oneListed = statement({
  name: 'one-listed-market',
  isPlannedAnew: true,
  text: 'select from tidemark.source_symbols where source = any ($sources) and gone_since is null limit 1',
  parameters: { sources: listOf(text) },
});

/**
 * Stores a source's list of markets, and each state that a market was not in before. A market is gone when two lists in
 * a row lack it, an hour apart: one may be cut short.
 */
export async function storeMarkets(
  database: Database,
  source: string,
  markets: readonly SourceMarket[],
  nowMs: EpochMs,
): Promise<void> {
  const rows = markets.map(({ contract, ...market }) => ({
    ...market,
    contractSize: contract?.size ?? null,
    contractAsset: contract?.asset ?? null,
  }));
  await listMarkets.on(database.pool, { source, markets: rows, now: nowMs });
}

const listMarkets = statement({
  name: 'list-markets',
  isPlannedAnew: true,
  text: `
    with listed as materialized (
      -- A source may list a symbol twice.
      select distinct on (symbol) symbol, base, quote, to_timestamp(listed_ms / 1000) as listed_at, is_trading,
             contract_size::numeric as contract_size, contract_asset
      from $markets order by symbol, is_trading desc
    ), missed as (
      update tidemark.source_symbols
         set gone_since = case when missed_at <= $now - interval '1 hour' then missed_at end,
             missed_at = coalesce(missed_at, $now)
      where source = $source and gone_since is null and symbol <> all (select symbol from listed)
      returning *
    ), states as (
      insert into tidemark.symbol_states
        (source, symbol, time, gone, base, quote, listed_at, trading, contract_size, contract_asset)
      select source, symbol, gone_since, true, base, quote, listed_at, trading, contract_size, contract_asset
      from missed where gone_since is not null
      union all
      select $source, l.symbol, $now, false, l.base, l.quote, l.listed_at, l.is_trading, l.contract_size,
             l.contract_asset
      from listed l left join tidemark.source_symbols m on m.source = $source and m.symbol = l.symbol
      where m.gone_since is not null
         or (m.base, m.quote, m.listed_at, m.trading, m.contract_size, m.contract_asset) is distinct from
            (l.base, l.quote, l.listed_at, l.is_trading, l.contract_size, l.contract_asset)
      on conflict do nothing
    )
    insert into tidemark.source_symbols
      (source, symbol, base, quote, listed_at, trading, contract_size, contract_asset, seen_at)
    select $source, symbol, base, quote, listed_at, is_trading, contract_size, contract_asset, $now from listed
    on conflict (source, symbol) do update
      set base = excluded.base, quote = excluded.quote, listed_at = excluded.listed_at, trading = excluded.trading,
          contract_size = excluded.contract_size, contract_asset = excluded.contract_asset,
          seen_at = excluded.seen_at, missed_at = null, gone_since = null`,
  parameters: {
    ...{ source: text, now: time },
    markets: rowsOf({
      ...{ symbol: text, base: text, quote: text, listedMs: nullable(float8), isTrading: bool },
      ...{ contractSize: nullable(text), contractAsset: nullable(text) },
    }),
  },
});

export type StoredMarket = RowOf<typeof readMarkets.row>;

/** The stored markets of a source, of one pair those that trade first; none: the list was never read. */
export const readMarkets = statement({
  name: 'stored-markets',
  isPlannedAnew: true,
  text: `select symbol, base, quote, listed_at as "listedMs", trading as "isTrading",
                max(seen_at) over () as "seenAtMs",
                case when contract_size is not null
                  then json_build_object('size', contract_size::text, 'asset', contract_asset) end as contract
         from tidemark.source_symbols where source = $source and gone_since is null
         order by base, quote, trading desc, symbol`,
  parameters: { source: text },
  row: {
    ...{ symbol: text, base: text, quote: text, listedMs: nullable(time), isTrading: bool, seenAtMs: time },
    contract: nullable(json<NonNullable<SourceMarket['contract']>>()),
  },
});
