/** The names of a source's markets in the user's ids: by aliases of the watch list, or by the polled list of assets. */

import type pg from 'pg';

/** Ids by code: of every source, or of one. */
export interface Alias {
  /** Empty: of every source. */
  readonly source: string;
  readonly code: string;
  readonly asset: string;
}

export async function readAliases(client: pg.Pool | pg.PoolClient): Promise<Alias[]> {
  const result = await client.query<Alias>(
    'select source, code, asset from tidemark.asset_aliases order by source, code',
  );
  return result.rows;
}

/** Replaces all aliases. */
export async function writeAliases(client: pg.PoolClient, aliases: readonly Alias[]): Promise<void> {
  await client.query('delete from tidemark.asset_aliases');
  await client.query(
    `insert into tidemark.asset_aliases (source, code, asset) select * from unnest($1::text[], $2::text[], $3::text[])`,
    [aliases.map(({ source }) => source), aliases.map(({ code }) => code), aliases.map(({ asset }) => asset)],
  );
}

export interface MarketName {
  readonly baseId: string;
  readonly quoteId: string;
}

/**
 * The names of a source's markets. A market that has a series under the source's codes keeps them: one market is one series.
 *
 * @param exchange of the series.
 */
export async function readMarketNames(
  client: pg.Pool | pg.PoolClient,
  source: string,
  exchange: string,
): Promise<ReadonlyMap<string, MarketName>> {
  const result = await client.query<MarketName & { symbol: string }>(
    `select m.symbol, case when s.is_known then m.base else m.base_id end as "baseId",
            case when s.is_known then m.quote else m.quote_id end as "quoteId"
     from public.source_markets m
     cross join lateral (
       select exists (select from tidemark.series where dataset = 'candles' and exchange_id = $2
                        and base_id = m.base and quote_id = m.quote)
          and not exists (select from tidemark.series where dataset = 'candles' and exchange_id = $2
                            and base_id = m.base_id and quote_id = m.quote_id
                            and (m.base_id, m.quote_id) <> (m.base, m.quote)) as is_known
     ) s
     where m.source = $1`,
    [source, exchange],
  );
  return new Map(result.rows.map(({ symbol, ...name }) => [symbol, name]));
}

/** Other names of series with a source of their own: by its codes, and by the ids that stand for them. */
export async function readOtherNames(
  client: pg.Pool | pg.PoolClient,
): Promise<ReadonlyArray<{ readonly id: number; readonly name: string }>> {
  const result = await client.query<{ id: number; name: string }>(
    `select distinct s.id, s.exchange_id || ' ' || pair || ' ' || s.interval as name
     from tidemark.series_sources x
     join tidemark.series s on s.id = x.series_id and s.dataset = 'candles'
     join public.source_markets m on m.source = x.source and m.symbol = x.symbol
     cross join lateral (values (m.base || '/' || m.quote), (m.base_id || '/' || m.quote_id)) n (pair)
     where pair <> s.base_id || '/' || s.quote_id`,
  );
  return result.rows;
}
