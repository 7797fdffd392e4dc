import { minuteMs } from '../intervals.ts';
import { columnsOf, type List } from '../list.ts';

export const exchanges = {
  name: 'exchanges',
  word: 'exchanges',
  entries: 'exchanges',
  entry: 'exchange',
  about: 'every exchange: rank, volume, pairs',
  askedFor: 'all',
  // The interface gives it no parameters.
  pageRows: null,
  keeps: 'changes',
  everyMs: 5 * minuteMs,
  polled: 'with all lists',
  key: [{ name: 'exchange', json: 'id', type: 'text' }],
  details: [],
  detailsOfNow: [],
  values: columnsOf({
    name: 'text',
    rank: 'bigint',
    percent_total_volume: ['numeric', 'Share of the volume of all exchanges, percent.'],
    volume_usd: ['numeric', 'Volume of the last 24 hours, USD.'],
    trading_pairs: ['bigint', 'Number of its markets.'],
    socket: ['boolean', 'Whether the exchange offers a socket connection.'],
    exchange_url: ['text', 'Address of the exchange; it may lack its scheme.'],
    updated: 'timestamptz',
  }),
  tables: { listed: 'listed_exchanges', states: 'exchange_states', id: 'listed_id' },
  chunkDays: 30,
  views: { now: 'exchanges', every: 'exchange_snapshots' },
} as const satisfies List;
