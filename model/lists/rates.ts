import { minuteMs } from '../intervals.ts';
import { columnsOf, type List } from '../list.ts';

/** What one unit of each currency costs, in US dollars. */
export const rates = {
  name: 'rates',
  word: 'rates',
  entries: 'rates',
  entry: 'currency',
  about: 'every rate, all of each poll',
  askedFor: 'all',
  pageRows: null,
  keeps: 'every poll',
  everyMs: 5 * minuteMs,
  polled: 'by default',
  key: [{ name: 'currency', json: 'id', type: 'text' }],
  details: columnsOf({ symbol: 'text', type: 'text' }),
  detailsOfNow: columnsOf({ currency_symbol: ['text', 'Sign of the currency; null: it has none.'] }),
  values: columnsOf({ rate_usd: ['numeric', 'Price of one unit of the currency, USD.'] }),
  tables: { listed: 'currencies', states: 'rate_points', id: 'currency_id' },
  chunkDays: 30,
  views: { now: 'latest_rates', every: 'rates' },
} as const satisfies List;
