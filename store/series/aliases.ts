/** The names of a source's markets in the user's ids: by aliases of the watch list, or by the polled list of assets. */

import type pg from 'pg';
import { isOfMarket, type SeriesKey, seriesName } from '../../model/series.ts';
import { bool, int4, listOf, type RowOf, rowsOf, statement, text } from '../db/statement.ts';
import { seriesColumns, seriesKey, seriesNameAs } from './series.ts';

/** An id by its code. The source is empty: of every source. */
const alias = { source: text, code: text, asset: text };
export type Alias = RowOf<typeof alias>;

export const readAliases = statement({
  name: 'aliases',
  text: 'select source, code, asset from tidemark.asset_aliases order by source, code',
  row: alias,
});

/** Replaces all aliases. */
export async function writeAliases(client: pg.PoolClient, aliases: readonly Alias[]): Promise<void> {
  await client.query('delete from tidemark.asset_aliases');
  await insertAliases.on(client, { aliases });
}

const insertAliases = statement({
  name: 'insert-aliases',
  text: 'insert into tidemark.asset_aliases (source, code, asset) select * from $aliases',
  parameters: { aliases: rowsOf(alias) },
});

export interface MarketName {
  readonly baseId: string;
  readonly quoteId: string;
}

/**
 * The names of a source's markets. A market that has a series under the source's codes keeps them: one market is one
 * series.
 *
 * @param exchange of the series.
 */
export async function readMarketNames(
  client: pg.Pool | pg.PoolClient,
  source: string,
  exchange: string,
): Promise<ReadonlyMap<string, MarketName>> {
  const rows = await marketNames.on(client, { source, exchange });
  return new Map(rows.map(({ symbol, ...name }) => [symbol, name]));
}

const marketNames = statement({
  name: 'market-names',
  isPlannedAnew: true,
  text: `
    select m.symbol, case when s.is_known then m.base else m.base_id end as "baseId",
           case when s.is_known then m.quote else m.quote_id end as "quoteId"
    from public.source_markets m
    cross join lateral (
      select exists (select from tidemark.series where exchange_id = $exchange
                       and base_id = m.base and quote_id = m.quote)
         and not exists (select from tidemark.series where exchange_id = $exchange
                           and base_id = m.base_id and quote_id = m.quote_id
                           and (m.base_id, m.quote_id) <> (m.base, m.quote)) as is_known
    ) s
    where m.source = $source`,
  parameters: { source: text, exchange: text },
  row: { symbol: text, baseId: text, quoteId: text },
});

/**
 * Whether the stored lists of sources have a market, by their codes or the ids that stand for them.
 *
 * @returns without those of which no list is stored.
 */
export async function readListedPair(
  client: pg.Pool | pg.PoolClient,
  sources: readonly string[],
  { baseId, quoteId }: MarketName,
): Promise<ReadonlyMap<string, boolean>> {
  if (sources.length === 0) return new Map();
  const rows = await listedPair.on(client, { sources, baseId, quoteId });
  return new Map(rows.map(({ source, isListed }) => [source, isListed]));
}

const listedPair = statement({
  name: 'listed-pair',
  isPlannedAnew: true,
  text: `select source, bool_or((base, quote) = ($baseId, $quoteId) or (base_id, quote_id) = ($baseId, $quoteId))
                  as "isListed"
         from public.source_markets where source = any ($sources) and gone_since is null group by source`,
  parameters: { sources: listOf(text), baseId: text, quoteId: text },
  row: { source: text, isListed: bool },
});

/** The perpetuals and futures that sources list of some assets, in their codes and in the ids for them. */
export const readContractQuotes = statement({
  name: 'contract-quotes',
  isPlannedAnew: true,
  text: `select base, base_id as "baseId", quote, quote_id as "quoteId" from public.source_markets
         where source = any ($sources) and kind <> 'spot' and (base = any ($bases) or base_id = any ($bases))
         order by base, quote`,
  parameters: { sources: listOf(text), bases: listOf(text) },
  row: { base: text, baseId: text, quote: text, quoteId: text },
});

/**
 * Other names of series of markets, in the codes of a source, or in the ids that stand for them: by the list of markets
 * of a source, and by the aliases alone where there is none. No series is stored under such a name.
 */
export const readOtherNames = statement({
  name: 'other-names',
  isPlannedAnew: true,
  text: `with listed as (
       select distinct x.source, s.exchange_id from tidemark.series_sources x join tidemark.series s on s.id =
         x.series_id
       where s.exchange_id is not null
       union
       select distinct source, source from tidemark.source_symbols
     ), pairs as (
       select l.exchange_id, own.base, own.quote, own.other_base, own.other_quote
       from listed l join public.source_markets m on m.source = l.source
       cross join lateral (values (m.base, m.quote, m.base_id, m.quote_id), (m.base_id, m.quote_id, m.base, m.quote))
         own (base, quote, other_base, other_quote)
       where (m.base, m.quote) <> (m.base_id, m.quote_id)
       union
       select s.exchange_id, s.base_id, s.quote_id, base, quote from tidemark.series s
       cross join lateral tidemark.asset_names(s.exchange_id, s.base_id) base
       cross join lateral tidemark.quote_names(s.exchange_id, s.quote_id) quote
       where s.exchange_id is not null and (base, quote) <> (s.base_id, s.quote_id)
     )
     select distinct ${seriesColumns},
            ${seriesNameAs('p.other_base', 'p.other_quote')} as name
     from pairs p
     join tidemark.series s on s.exchange_id = p.exchange_id and s.base_id = p.base and s.quote_id = p.quote
     where not exists (select from tidemark.series x where x.dataset = s.dataset and x.exchange_id = s.exchange_id
                         and x.base_id = p.other_base and x.quote_id = p.other_quote and x.interval = s.interval)
     order by s.id`,
  row: { id: int4, series: seriesKey, name: text },
});

/** The series as they are stored: under another name of the same market, if there is one. One market is one series. */
export async function storedKeys(client: pg.Pool | pg.PoolClient, keys: readonly SeriesKey[]): Promise<SeriesKey[]> {
  if (!keys.some(isOfMarket)) return [...keys];
  const nameIn = (dataset: string, name: string) => `${dataset} ${name}`;
  const others = await readOtherNames.on(client, {});
  const stored = new Map(others.map(({ name, series }) => [nameIn(series.dataset, name), series]));
  return keys.map((key) => stored.get(nameIn(key.dataset, seriesName(key))) ?? key);
}

export function areSameAliases(a: readonly Alias[], b: readonly Alias[]): boolean {
  const textOf = (all: readonly Alias[]) =>
    all
      .map(({ source, code, asset }) => JSON.stringify([source, code, asset]))
      .sort()
      .join();
  return textOf(a) === textOf(b);
}
