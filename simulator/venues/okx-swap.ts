/**
 * OKX's REST interface, version 5, for swaps. It has a linear one of each spot market in tether, and inverse ones of
 * bitcoin and ether at the prices of those markets. It has candles of spot markets too: both count against the limit of
 * one path.
 *
 * Source: okx.com/docs-v5. Volumes count contracts beside the base asset, each path has a limit of its own, and both
 * ends of a range are exclusive.
 */

import { type DecimalText, productOf } from '../../model/decimal.ts';
import { dayMs, type EpochMs, type Interval, intervalMs, type Range } from '../../model/intervals.ts';
import { contractSizeOf, contractsIn, positionsAt } from '../derivatives.ts';
import { everyPeriod, newestPart, openInterestAt, perpetualsOf, spotOf, timesIn } from './binance-usdm.ts';
import { failed, given, intervals, limitOf, okx, spotHistory, spotInstruments, unknown } from './okx.ts';
import {
  turnoverOf,
  type Venue,
  type VenueAnswer,
  type VenueData,
  type VenueMarket,
  type VenueRequest,
} from './venue.ts';

const fundingKeptMs = 92 * dayMs;
const keptPeriods = 1440;

export const okxSwap: Venue = {
  ...okx,
  routes: [
    {
      path: '/api/v5/market/history-candles',
      limit: limitOf(20),
      answer: (request) =>
        request.query.instId?.endsWith('-SWAP') ? candles(request, 'traded') : spotHistory(request),
    },
    {
      path: '/api/v5/market/history-mark-price-candles',
      limit: limitOf(20),
      answer: (request) => candles(request, 'mark'),
    },
    {
      path: '/api/v5/market/history-index-candles',
      limit: limitOf(10),
      answer: (request) => candles(request, 'index'),
    },
    { path: '/api/v5/public/funding-rate-history', limit: limitOf(10), answer: funding },
    { path: '/api/v5/rubik/stat/contracts/open-interest-history', limit: limitOf(10), answer: openInterest },
    { path: '/api/v5/rubik/stat/contracts/long-short-account-ratio-contract', limit: limitOf(5), answer: ratios },
    { path: '/api/v5/public/instruments', limit: limitOf(20), answer: instruments },
  ],
};

const inverseBases: readonly string[] = ['BTC', 'ETH'];

/** Linear ones, and inverse ones, whose quote is the dollar. */
function swapsOf(data: VenueData): readonly VenueMarket[] {
  const linear = perpetualsOf(data);
  const inverse = linear.filter(({ base }) => inverseBases.includes(base));
  return [...linear, ...inverse.map((market) => ({ ...market, quote: 'USD' }))];
}

function marketOf({ query, data }: VenueRequest, end = '-SWAP'): VenueMarket | undefined {
  return swapsOf(data).find(({ base, quote }) => `${base}-${quote}${end}` === query.instId);
}

/** A hundredth of the base asset, or dollars. */
const contractOf = ({ base, quote }: VenueMarket) =>
  quote === 'USD'
    ? ({ settleCcy: base, ctVal: String(contractSizeOf(base)), ctValCcy: 'USD', ctType: 'inverse' } as const)
    : ({ settleCcy: quote, ctVal: '0.01', ctValCcy: base, ctType: 'linear' } as const);

/** @param value in the quote. */
const inContracts = (market: VenueMarket, amount: DecimalText, value: string) =>
  contractOf(market).ctType === 'inverse' ? contractsIn(value, market.base) : productOf(amount, '100' as DecimalText);

/** A symbol of the truth: `BTCUSDT`, `BTCUSD`. */
const truthOf = ({ base, quote }: VenueMarket) => base + quote;

function rangeOf({ query, nowMs }: VenueRequest, from: 'before' | 'begin', to: 'after' | 'end'): Range {
  return { startMs: Number(query[from] ?? -1) + 1, endMs: Math.min(Number(query[to] ?? nowMs + 1), nowMs + 1) };
}

/** The newest rows, descending. */
function page<Row extends object>({ query, data }: VenueRequest, rows: readonly Row[], most: number): Row[] {
  const limit = Math.min(Number(query.limit ?? 100), most);
  return data.cut(rows.slice(Math.max(0, rows.length - limit))).toReversed();
}

function candles(request: VenueRequest, what: 'traded' | 'mark' | 'index'): VenueAnswer {
  const { query, data, nowMs } = request;
  const market = marketOf(request, what === 'index' ? '' : '-SWAP');
  const interval = intervals[query.bar ?? '1m'];
  if (market === undefined) return unknown;
  if (interval === undefined) return failed('51000', 'Parameter bar error', 400);
  const priced = what === 'index' ? spotOf(market) : market;
  const { startMs, endMs } = rangeOf(request, 'before', 'after');
  const openMs = Math.floor(nowMs / intervalMs[interval]) * intervalMs[interval];
  const range = { startMs, endMs: Math.min(endMs, openMs) };
  const rows =
    what === 'traded'
      ? data
          .page(market, interval, range, { limit: Math.min(Number(query.limit ?? 100), 300), keep: 'newest' })
          .toReversed()
      : page(request, everyPeriod(data, priced, interval, newestPart(range, 100, intervalMs[interval])), 100);
  return given(
    rows.map((row, place) => {
      const confirm = place === 0 && data.answerForm === 'open-rows' ? '0' : '1';
      const { period, open, high, low, close, volume } = row;
      const prices = [String(period), open, high, low, close];
      if (what !== 'traded') return [...prices, confirm];
      const turnover = turnoverOf(row);
      return [...prices, inContracts(market, volume, turnover), volume, turnover, confirm];
    }),
  );
}

function funding(request: VenueRequest): VenueAnswer {
  const { query, data, nowMs } = request;
  const market = marketOf(request);
  if (market === undefined) return unknown;
  const { startMs, endMs } = rangeOf(request, 'before', 'after');
  const events = data
    .fundingEvents(truthOf(market), { startMs: Math.max(startMs, nowMs - fundingKeptMs), endMs })
    .map(({ timeMs, statedMs, rate }) => ({
      ...{ instId: query.instId, instType: 'SWAP', method: 'next_period', formulaType: 'withRate' },
      // The predicted rate differs.
      ...{ fundingRate: `${rate}9`, realizedRate: rate },
      fundingTime: String(statedMs - timeMs < 1000 ? timeMs : statedMs),
    }));
  return given(page(request, events, 400));
}

function statistic(
  request: VenueRequest,
  rowsAt: (market: VenueMarket, times: readonly EpochMs[]) => string[][],
): VenueAnswer {
  const { query, data, nowMs } = request;
  const market = marketOf(request);
  const interval: Interval | undefined = intervals[query.period ?? '5m'];
  if (market === undefined) return unknown;
  if (interval === undefined) return failed('51000', 'Parameter period error', 400);
  const length = intervalMs[interval];
  const { startMs, endMs } = rangeOf(request, 'begin', 'end');
  const times = timesIn({ startMs: Math.max(startMs, nowMs - keptPeriods * length), endMs }, length);
  const closed = times.filter((timeMs) => timeMs + length <= nowMs && !data.lacks(timeMs));
  return given(page(request, rowsAt(market, closed.slice(-100)), 100));
}

function openInterest(request: VenueRequest): VenueAnswer {
  return statistic(request, (market, times) =>
    openInterestAt(request.data, market, times).map(({ timeMs, amount, value }) => [
      ...[String(timeMs), inContracts(market, amount, value), amount, value],
    ]),
  );
}

function ratios(request: VenueRequest): VenueAnswer {
  return statistic(request, (market, times) =>
    times.map((timeMs) => [String(timeMs), positionsAt(truthOf(market), timeMs).ratio]),
  );
}

function instruments(request: VenueRequest): VenueAnswer {
  const { query, data } = request;
  if (query.instType !== 'SWAP') return spotInstruments(request);
  return given(
    swapsOf(data).map((market) => {
      const pair = `${market.base}-${market.quote}`;
      return {
        ...{ instType: 'SWAP', instId: `${pair}-SWAP`, uly: pair, instFamily: pair, baseCcy: '', quoteCcy: '' },
        ...{ ...contractOf(market), ctMult: '1', state: 'live', listTime: '1611916828000', expTime: '' },
      };
    }),
  );
}
