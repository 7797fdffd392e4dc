import { minuteMs } from '../intervals.ts';
import { columnsOf, type List } from '../list.ts';

export const assets = {
  name: 'assets',
  word: 'assets',
  entries: 'assets',
  entry: 'asset',
  about: 'every asset: rank, supply, market capitalisation, volume, price',
  askedFor: 'all',
  pageRows: 2000,
  keeps: 'changes',
  everyMs: 5 * minuteMs,
  polled: 'with all lists',
  key: [{ name: 'asset', json: 'id', type: 'text' }],
  details: [],
  detailsOfNow: [],
  values: columnsOf({
    rank: 'bigint',
    symbol: 'text',
    name: 'text',
    supply: 'numeric',
    max_supply: 'numeric',
    market_cap_usd: 'numeric',
    volume_usd_24hr: 'numeric',
    price_usd: 'numeric',
    change_percent_24hr: 'numeric',
    vwap_24hr: 'numeric',
  }),
  tables: { listed: 'listed_assets', states: 'asset_states', id: 'listed_id' },
  chunkDays: 30,
  views: { now: 'assets', every: 'asset_snapshots' },
} as const satisfies List;
