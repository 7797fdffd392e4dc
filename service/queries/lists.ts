/**
 * The newest state of assets, exchanges, markets and rates, as the service answers it. Entries that are gone
 * at the source are left out; their history stays.
 *
 * Columns have the interface's field names, by the descriptors of the lists. Decimals that the interface has as text
 * are cast to text. Other values become JSON of their own type, NUMERIC with all its digits.
 */

import type pg from 'pg';
import type { List } from '../../model/list.ts';
import { lists } from '../../model/lists/index.ts';
import { int4, listOf, nullable, oneOf, type Parameters, statement, text } from '../../store/db/statement.ts';
import type { AssetsRequest, MarketsRequest, PageRequest } from '../../v2/requests.ts';
import { millisecondsOf } from './query.ts';

/** Fields of the interface in their order, as columns. */
function fieldsOf(list: List, fields: string, decimals: 'as text' | 'as numbers'): string {
  const columns = [...list.key, ...list.details, ...list.detailsOfNow, ...list.values];
  return fields
    .split(' ')
    .map((field) => {
      const column = columns.find(({ json }) => json === field);
      if (column === undefined) throw new Error(`${list.name} has no ${field}`);
      const { name, type } = column;
      const isText = type === 'numeric' && decimals === 'as text';
      return `${type === 'timestamptz' ? millisecondsOf(name) : isText ? `${name}::text` : name} as "${field}"`;
    })
    .join(', ');
}

/** The rows as the text of a JSON array. */
const listed = <Of extends Parameters>(name: string, parameters: Of, rows: string) =>
  statement({
    name: `serve-${name}`,
    text: `select coalesce('[' || string_agg(row_to_json(r)::text, ',') || ']', '[]') as json from (${rows}) r`,
    parameters,
    row: { json: text },
  });

/** The row as the text of a JSON object. */
const single = (name: string, row: string) =>
  statement({
    name: `serve-${name}`,
    text: `select row_to_json(r)::text as json from (${row}) r`,
    parameters: { id: text },
    row: { json: text },
  });

const optional = nullable(text);
const page = { limit: int4, offset: int4 };

const assetFields = fieldsOf(
  lists.assets,
  'symbol name supply maxSupply marketCapUsd volumeUsd24Hr priceUsd changePercent24Hr',
  'as text',
);

const assets = listed(
  'assets',
  { ids: nullable(listOf(text)), search: optional, ...page },
  `select asset as id, rank::text as rank, ${assetFields} from public.assets a
   where gone_since is null and ($ids is null or asset = any ($ids))
     and ($search is null or starts_with(lower(asset), lower($search)) or starts_with(lower(a.symbol), lower($search)))
   order by a.rank nulls last, asset collate "C" limit $limit offset $offset`,
);

const asset = single(
  'asset',
  `select asset as id, rank, ${assetFields}, ${fieldsOf(lists.assets, 'vwap24Hr', 'as text')}
   from public.assets where asset = $id and gone_since is null`,
);

const assetMarketFields = fieldsOf(
  lists.asset_markets,
  'exchangeId baseId quoteId baseSymbol quoteSymbol volumeUsd24Hr priceUsd',
  'as numbers',
);
/** By volume, largest first, nulls first, as at the source; then by names, so that pages do not overlap. */
const byVolume = `order by m.volume_usd_24hr desc nulls first, exchange_name collate "C", m.base collate "C",
     m.quote collate "C" limit $limit offset $offset`;

const assetMarkets = listed(
  'asset-markets',
  { id: text, ...page },
  `select ${assetMarketFields}, ${fieldsOf(lists.asset_markets, 'volumePercent', 'as numbers')}
   from public.asset_markets m
   where m.asset = $id and m.gone_since is null
   ${byVolume}`,
);

/**
 * Markets of an asset whose own list is not polled: from the list of all markets, which lacks the asset's
 * share of the volume.
 */
const assetMarketsOfAll = listed(
  'asset-markets-of-all',
  { id: text, ...page },
  `select ${assetMarketFields}, null::numeric as "volumePercent"
   from public.markets m
   left join public.exchanges e on e.exchange = m.exchange
   cross join lateral (select coalesce(e.name, m.exchange) as exchange_name) n
   where (m.base = $id or m.quote = $id) and m.gone_since is null
   ${byVolume}`,
);

/** A list that is no longer polled goes stale. It answers only where there is nothing newer. */
const assetMarketsState = statement({
  name: 'serve-asset-markets-state',
  text: `
    select case
      when own and exists (
        select from tidemark.lists where list = 'asset_markets' and asset = $id and untracked_at is null) then 'own'
      when exists (
        select from tidemark.listed_markets where gone_since is null and (base = $id or quote = $id)) then 'known'
      when own then 'own'
      when exists (select from public.assets where asset = $id and gone_since is null)
        or exists (select from tidemark.series where dataset = 'asset_history' and asset_id = $id) then 'known'
    end as state
    from (select exists (select from public.asset_markets where asset = $id) as own) o`,
  parameters: { id: text },
  row: { state: nullable(oneOf<'own' | 'known'>()) },
});

const markets = listed(
  'markets',
  {
    ...{ exchangeId: optional, baseSymbol: optional, quoteSymbol: optional, baseId: optional, quoteId: optional },
    ...{ assetSymbol: optional, assetId: optional, ...page },
  },
  `select ${fieldsOf(
    lists.markets,
    'exchangeId rank baseSymbol baseId quoteSymbol quoteId priceQuote priceUsd volumeUsd24Hr percentExchangeVolume ' +
      'tradesCount24Hr updated',
    'as text',
  )}
   from public.markets m
   where gone_since is null and ($exchangeId is null or exchange = $exchangeId)
     and ($baseSymbol is null or lower(base_symbol) = lower($baseSymbol))
     and ($quoteSymbol is null or lower(quote_symbol) = lower($quoteSymbol))
     and ($baseId is null or base = $baseId) and ($quoteId is null or quote = $quoteId)
     and ($assetSymbol is null or lower($assetSymbol) in (lower(base_symbol), lower(quote_symbol)))
     and ($assetId is null or $assetId in (base, quote))
   order by exchange collate "C", m.rank nulls last, base collate "C", quote collate "C" limit $limit offset $offset`,
);

const exchangeFields = fieldsOf(
  lists.exchanges,
  'id name rank percentTotalVolume volumeUsd tradingPairs socket exchangeUrl updated',
  'as text',
);

const exchanges = listed(
  'exchanges',
  {},
  `select ${exchangeFields} from public.exchanges e where gone_since is null
   order by e.rank nulls last, exchange collate "C"`,
);
const exchange = single(
  'exchange',
  `select ${exchangeFields} from public.exchanges where exchange = $id and gone_since is null`,
);

const rateFields = fieldsOf(lists.rates, 'id symbol currencySymbol rateUsd type', 'as text');

const rates = listed(
  'rates',
  {},
  `select ${rateFields} from public.latest_rates where gone_since is null order by currency collate "C"`,
);
const rate = single(
  'rate',
  `select ${rateFields} from public.latest_rates where currency = $id and gone_since is null`,
);

type Rows = Promise<ReadonlyArray<{ readonly json: string }>>;
const all = async (rows: Rows) => (await rows)[0]?.json ?? '[]';
const one = async (rows: Rows) => (await rows)[0]?.json ?? null;

/** Every method returns JSON text; null stands for an unknown id. */
export function listQueries(pool: pg.Pool) {
  return {
    assets: ({ ids, search, limit, offset }: AssetsRequest) =>
      all(assets.on(pool, { ids: ids?.split(',') ?? null, search: search ?? null, limit, offset })),
    asset: (id: string) => one(asset.on(pool, { id })),
    async assetMarkets(id: string, { limit, offset }: PageRequest) {
      const [found] = await assetMarketsState.on(pool, { id });
      if (found === undefined || found.state === null) return null;
      return all((found.state === 'own' ? assetMarkets : assetMarketsOfAll).on(pool, { id, limit, offset }));
    },
    markets: (request: MarketsRequest) =>
      all(
        markets.on(pool, {
          ...{ exchangeId: request.exchangeId ?? null, assetId: request.assetId ?? null },
          ...{ baseSymbol: request.baseSymbol ?? null, quoteSymbol: request.quoteSymbol ?? null },
          ...{ baseId: request.baseId ?? null, quoteId: request.quoteId ?? null },
          ...{ assetSymbol: request.assetSymbol ?? null, limit: request.limit, offset: request.offset },
        }),
      ),
    exchanges: () => all(exchanges.on(pool, {})),
    exchange: (id: string) => one(exchange.on(pool, { id })),
    rates: () => all(rates.on(pool, {})),
    rate: (id: string) => one(rate.on(pool, { id })),
  };
}
