/**
 * OKX's REST interface, version 5, for spot markets: candles, their history, and the list of instruments. It has the
 * markets of the synthetic exchange `binance`.
 *
 * Source: okx.com/docs-v5, "Get candlesticks", "Get candlesticks history", "Get instruments" and "Error Code". It has
 * the intervals of the interface by UTC: OKX also has longer ones by the time of Hong Kong.
 */

import type { CandleInterval } from '../../model/datasets/candles.ts';
import { type EpochMs, intervalMs, periodStart } from '../../model/intervals.ts';
import { json, turnoverOf, type Venue, type VenueAnswer, type VenueRequest, wholeOf } from './venue.ts';

export const intervals: Readonly<Record<string, CandleInterval>> = {
  '1m': 'm1',
  '5m': 'm5',
  '15m': 'm15',
  '30m': 'm30',
  '1H': 'h1',
  '2H': 'h2',
  '4H': 'h4',
  '12Hutc': 'h12',
  '1Dutc': 'd1',
  '1Wutc': 'w1',
};

const defaultRows = 100;
/** Periods that `candles` keeps. */
const newestPeriods = 1440;

/** Each path has a limit of its own. */
export const limitOf = (amount: number) => ({ amount, periodMs: 2000, kind: 'rolling' }) as const;

export const given = (data: readonly unknown[]) => json({ code: '0', msg: '', data });
export const failed = (code: string, msg: string, status: number) => json({ code, msg, data: [] }, status);

export const unknown = failed('51001', "Instrument ID, Instrument ID code, or Spread ID doesn't exist.", 200);

export const okx: Venue = {
  exchange: 'binance',
  limit: limitOf(20),
  refuse: () => json({ msg: 'Too Many Requests', code: '50011' }, 429),
  failure: failed('50026', 'System error. Try again later', 500),
  unknownPath: json({ msg: 'Not Found', code: '404' }, 404),
  routes: [
    { path: '/api/v5/market/history-candles', limit: limitOf(20), answer: spotHistory },
    {
      path: '/api/v5/market/candles',
      limit: limitOf(40),
      answer: (request) => candles(request, { maxRows: 300, isHistory: false }),
    },
    { path: '/api/v5/public/instruments', limit: limitOf(20), answer: spotInstruments },
  ],
};

export function spotHistory(request: VenueRequest): VenueAnswer {
  return candles(request, { maxRows: 300, isHistory: true });
}

function candles(
  { query, data, nowMs }: VenueRequest,
  { maxRows, isHistory }: { readonly maxRows: number; readonly isHistory: boolean },
): VenueAnswer {
  const { instId, bar = '1m' } = query;
  if (instId === undefined) return failed('50014', 'Parameter instId can not be empty', 400);
  const market = data.markets.find(({ base, quote }) => `${base}-${quote}` === instId);
  if (market === undefined) return unknown;
  const interval = intervals[bar];
  if (interval === undefined) return failed('51000', 'Parameter bar error', 400);
  for (const field of ['after', 'before', 'limit'])
    if (wholeOf(query[field] ?? '0') === null) return failed('51000', `Parameter ${field} error`, 400);

  const openMs = periodStart(nowMs, interval);
  // Both bounds are exclusive. The history has closed candles only.
  const oldestMs = isHistory ? 0 : openMs - (newestPeriods - 1) * intervalMs[interval];
  const startMs = Math.max(Number(query.before ?? -1) + 1, oldestMs);
  const endMs = Math.min(Number(query.after ?? nowMs + 1), isHistory ? openMs : nowMs + 1);
  const limit = Math.min(Number(query.limit ?? defaultRows), maxRows);
  const rows = data.page(market, interval, { startMs, endMs }, { limit, keep: 'newest' });
  return given(
    rows.toReversed().map((row, place) => {
      const turnover = turnoverOf(row);
      const isOpen = row.period >= openMs || (place === 0 && data.answerForm === 'open-rows');
      const confirm = isOpen ? '0' : '1';
      const { period, open, high, low, close, volume } = row;
      // Of a spot market, the volume in the quote asset stands there twice.
      return [String(period), open, high, low, close, volume, turnover, turnover, confirm];
    }),
  );
}

export function spotInstruments({ query, data }: VenueRequest): VenueAnswer {
  const { instType, instId } = query;
  if (instType === undefined) return failed('50014', 'Parameter instType can not be empty', 400);
  if (instType !== 'SPOT') return failed('51000', 'Parameter instType error', 400);
  const listed = data.markets.map(({ base, quote, beganMs }) => instrument(base, quote, beganMs));
  const found = listed.filter((row) => instId === undefined || row.instId === instId);
  return found.length === 0 ? unknown : given(found);
}

function instrument(base: string, quote: string, listedMs: EpochMs) {
  return {
    instType: 'SPOT',
    instId: `${base}-${quote}`,
    baseCcy: base,
    quoteCcy: quote,
    settleCcy: '',
    listTime: String(listedMs),
    expTime: '',
    tickSz: '0.01',
    lotSz: '0.00000001',
    minSz: '0.00001',
    state: 'live',
  };
}
