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
    percent_total_volume: 'numeric',
    volume_usd: 'numeric',
    trading_pairs: 'bigint',
    socket: 'boolean',
    exchange_url: 'text',
    updated: 'timestamptz',
  }),
  tables: { listed: 'listed_exchanges', states: 'exchange_states', id: 'listed_id' },
  chunkDays: 30,
  views: { now: 'exchanges', every: 'exchange_snapshots' },
} as const satisfies List;
