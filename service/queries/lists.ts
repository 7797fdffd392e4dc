/**
 * The newest state of assets, exchanges, markets and rates, as the service answers it. Entries that are gone
 * at the source are left out; their history stays.
 *
 * Columns have the interface's field names. Decimals that the interface has as text are cast to text. Other
 * values become JSON of their own type, NUMERIC with all its digits.
 */

import type pg from 'pg';
import type { AssetsRequest, MarketsRequest, PageRequest } from '../../v2/requests.ts';
import { asJsonList, asJsonObject, millisecondsOf, queryList, queryText } from './query.ts';

const assetFields = `symbol, name, supply::text, max_supply::text as "maxSupply", market_cap_usd::text as "marketCapUsd",
  volume_usd_24hr::text as "volumeUsd24Hr", price_usd::text as "priceUsd", change_percent_24hr::text as "changePercent24Hr"`;

const assets = {
  name: 'serve-assets',
  text: asJsonList(`
    select asset as id, rank::text as rank, ${assetFields} from public.assets a
    where gone_since is null and ($1::text[] is null or asset = any ($1))
      and ($2::text is null or starts_with(lower(asset), lower($2)) or starts_with(lower(a.symbol), lower($2)))
    order by a.rank nulls last, asset collate "C" limit $3 offset $4`),
};

const asset = {
  name: 'serve-asset',
  text: asJsonObject(`
    select asset as id, rank, ${assetFields}, vwap_24hr::text as "vwap24Hr" from public.assets
    where asset = $1 and gone_since is null`),
};

/** By volume, largest first, nulls first, as at the source; then by names, so that pages do not overlap. */
const byVolume = `order by m.volume_usd_24hr desc nulls first, exchange_name collate "C", m.base collate "C", m.quote collate "C"`;
const assetMarketFields = `exchange_name as "exchangeId", m.base as "baseId", m.quote as "quoteId",
  m.base_symbol as "baseSymbol", m.quote_symbol as "quoteSymbol", m.volume_usd_24hr as "volumeUsd24Hr",
  m.price_usd as "priceUsd"`;

const assetMarkets = {
  name: 'serve-asset-markets',
  text: asJsonList(`
    select ${assetMarketFields}, m.volume_percent as "volumePercent" from public.asset_markets m
    where m.asset = $1 and m.gone_since is null
    ${byVolume} limit $2 offset $3`),
};

/**
 * Markets of an asset whose own list is not polled: from the list of all markets, which lacks the asset's
 * share of the volume.
 */
const assetMarketsOfAll = {
  name: 'serve-asset-markets-of-all',
  text: asJsonList(`
    select ${assetMarketFields}, null::numeric as "volumePercent"
    from public.markets m
    left join public.exchanges e on e.exchange = m.exchange
    cross join lateral (select coalesce(e.name, m.exchange) as exchange_name) n
    where (m.base = $1 or m.quote = $1) and m.gone_since is null
    ${byVolume} limit $2 offset $3`),
};

/** A list that is no longer polled goes stale. It answers only where there is nothing newer. */
const assetMarketsState = {
  name: 'serve-asset-markets-state',
  text: `
    select case
      when own and exists (
        select from tidemark.lists where list = 'asset_markets' and asset = $1 and untracked_at is null) then 'own'
      when exists (
        select from tidemark.listed_markets where gone_since is null and (base = $1 or quote = $1)) then 'known'
      when own then 'own'
      when exists (select from public.assets where asset = $1 and gone_since is null)
        or exists (select from tidemark.series where dataset = 'asset_history' and asset_id = $1) then 'known'
    end
    from (select exists (select from public.asset_markets where asset = $1) as own) o`,
};

const markets = {
  name: 'serve-markets',
  text: asJsonList(`
    select exchange as "exchangeId", rank, base_symbol as "baseSymbol", base as "baseId", quote_symbol as "quoteSymbol",
           quote as "quoteId", price_quote::text as "priceQuote", price_usd::text as "priceUsd",
           volume_usd_24hr::text as "volumeUsd24Hr", percent_exchange_volume::text as "percentExchangeVolume",
           trades_count_24hr as "tradesCount24Hr", ${millisecondsOf('updated')} as updated
    from public.markets m
    where gone_since is null and ($1::text is null or exchange = $1)
      and ($2::text is null or lower(base_symbol) = lower($2)) and ($3::text is null or lower(quote_symbol) = lower($3))
      and ($4::text is null or base = $4) and ($5::text is null or quote = $5)
      and ($6::text is null or lower($6) in (lower(base_symbol), lower(quote_symbol)))
      and ($7::text is null or $7 in (base, quote))
    order by exchange collate "C", rank nulls last, base collate "C", quote collate "C" limit $8 offset $9`),
};

const exchangeFields = `exchange as id, name, rank, percent_total_volume::text as "percentTotalVolume",
  volume_usd::text as "volumeUsd", trading_pairs as "tradingPairs", socket, exchange_url as "exchangeUrl",
  ${millisecondsOf('updated')} as updated`;

const exchanges = {
  name: 'serve-exchanges',
  text: asJsonList(`
    select ${exchangeFields} from public.exchanges where gone_since is null
    order by rank nulls last, exchange collate "C"`),
};

const exchange = {
  name: 'serve-exchange',
  text: asJsonObject(`select ${exchangeFields} from public.exchanges where exchange = $1 and gone_since is null`),
};

const rateFields = `currency as id, symbol, currency_symbol as "currencySymbol", rate_usd::text as "rateUsd", type`;

const rates = {
  name: 'serve-rates',
  text: asJsonList(
    `select ${rateFields} from public.latest_rates where gone_since is null order by currency collate "C"`,
  ),
};

const rate = {
  name: 'serve-rate',
  text: asJsonObject(`select ${rateFields} from public.latest_rates where currency = $1 and gone_since is null`),
};

/** Every method returns JSON text; null stands for an unknown id. */
export function listQueries(pool: pg.Pool) {
  return {
    assets: ({ ids, search, limit, offset }: AssetsRequest) =>
      queryList(pool, assets, [ids?.split(','), search, limit, offset]),
    asset: (id: string) => queryText(pool, asset, [id]),
    async assetMarkets(id: string, { limit, offset }: PageRequest) {
      const state = await queryText(pool, assetMarketsState, [id]);
      if (state === null) return null;
      return queryList(pool, state === 'own' ? assetMarkets : assetMarketsOfAll, [id, limit, offset]);
    },
    markets: (request: MarketsRequest) =>
      queryList(pool, markets, [
        request.exchangeId,
        request.baseSymbol,
        request.quoteSymbol,
        request.baseId,
        request.quoteId,
        request.assetSymbol,
        request.assetId,
        request.limit,
        request.offset,
      ]),
    exchanges: () => queryList(pool, exchanges, []),
    exchange: (id: string) => queryText(pool, exchange, [id]),
    rates: () => queryList(pool, rates, []),
    rate: (id: string) => queryText(pool, rate, [id]),
  };
}
