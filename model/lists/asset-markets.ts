import { minuteMs } from '../intervals.ts';
import { columnsOf, type List } from '../list.ts';

export const assetMarkets = {
  name: 'asset_markets',
  word: 'asset-markets',
  entries: 'markets',
  entry: 'market of an asset',
  about: 'the markets on which an asset trades, as the source lists them for it',
  askedFor: 'asset',
  pageRows: 2000,
  keeps: 'changes',
  everyMs: 5 * minuteMs,
  polled: 'by name',
  key: [
    // The source gives an exchange's display name here, not its id.
    { name: 'exchange_name', json: 'exchangeId', type: 'text' },
    { name: 'base', json: 'baseId', type: 'text' },
    { name: 'quote', json: 'quoteId', type: 'text' },
  ],
  details: [],
  detailsOfNow: [],
  values: columnsOf({
    base_symbol: 'text',
    quote_symbol: 'text',
    volume_usd_24hr: 'numeric',
    price_usd: 'numeric',
    volume_percent: ['numeric', 'Share of the volume of all markets of the asset, percent.'],
  }),
  tables: { listed: 'listed_asset_markets', states: 'asset_market_states', id: 'listed_id' },
  chunkDays: 30,
  views: { now: 'asset_markets', every: 'asset_market_snapshots' },
} as const satisfies List;
