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
    supply: ['numeric', 'Available supply.'],
    max_supply: ['numeric', 'Most that can ever be issued; null: unlimited or unknown.'],
    market_cap_usd: ['numeric', 'Supply multiplied by price, USD.'],
    volume_usd_24hr: 'numeric',
    price_usd: 'numeric',
    change_percent_24hr: ['numeric', 'Change over the last 24 hours, percent.'],
    vwap_24hr: ['numeric', 'Volume-weighted average price of the last 24 hours, USD.'],
  }),
  tables: { listed: 'listed_assets', states: 'asset_states', id: 'listed_id' },
  chunkDays: 30,
  views: { now: 'assets', every: 'asset_snapshots' },
} as const satisfies List;
