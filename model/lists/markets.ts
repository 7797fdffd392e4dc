import { hourMs } from '../intervals.ts';
import { columnsOf, type List } from '../list.ts';

export const markets = {
  name: 'markets',
  word: 'markets',
  entries: 'markets',
  entry: 'market',
  about: 'every market: prices and volume',
  askedFor: 'all',
  pageRows: 2000,
  keeps: 'changes',
  // Most of the thousands of markets change between two polls.
  everyMs: hourMs,
  polled: 'with all lists',
  key: [
    { name: 'exchange', json: 'exchangeId', type: 'text' },
    { name: 'base', json: 'baseId', type: 'text' },
    { name: 'quote', json: 'quoteId', type: 'text' },
  ],
  details: [],
  detailsOfNow: [],
  values: columnsOf({
    rank: 'bigint',
    base_symbol: 'text',
    quote_symbol: 'text',
    price_quote: ['numeric', 'Price of the base asset, in the quote.'],
    price_usd: 'numeric',
    volume_usd_24hr: 'numeric',
    percent_exchange_volume: ['numeric', 'Share of the volume of the exchange, percent.'],
    trades_count_24hr: ['bigint', 'Trades in the last 24 hours.'],
    updated: 'timestamptz',
  }),
  tables: { listed: 'listed_markets', states: 'market_states', id: 'listed_id' },
  // Ten thousand rows a poll.
  chunkDays: 7,
  views: { now: 'markets', every: 'market_snapshots' },
} as const satisfies List;
