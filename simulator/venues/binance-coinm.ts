/**
 * Binance's REST interface for COIN-M futures. Each perpetual of {@link binanceUsdm} has one that is settled in its
 * base asset, at the same prices: `BTCUSD_PERP` at those of `BTCUSDT`.
 *
 * Source: github.com/binance/binance-connector-js, derivatives-trading-coin-futures, market-data-api.ts; recorded
 * answers. A range has at most 200 days, and gives its newest rows.
 */

import { dayMs, intervalMs } from '../../model/intervals.ts';
import { contractSizeOf, contractsIn } from '../derivatives.ts';
import { intervals, refused } from './binance.ts';
import { binanceUsdm, weightOfRows } from './binance-usdm.ts';
import { json, type Venue, type VenueAnswer, type VenueRequest, type VenueRoute } from './venue.ts';

type Row = Record<string | number, unknown>;

const longestMs = 200 * dayMs;
/** 08:00 of the day. */
const future = { symbol: 'BTCUSD_300628', deliveryDate: Date.UTC(2030, 5, 28, 8), contractType: 'NEXT_QUARTER' };

/** A market, such as `BTCUSD_PERP`, or the pair `BTCUSD`. */
const naming = /^(\w+?)USD(?:_PERP)?(_\d{6})?$/;
const baseOf = (name = '') => naming.exec(name)?.[1] ?? '';

/** `BTCUSDT` of `BTCUSD_PERP` and of the pair `BTCUSD`. */
function linear(name: string): string {
  const base = baseOf(name);
  return base === '' ? 'unknown' : `${base}USDT${naming.exec(name)?.[2] ?? ''}`;
}

/** The answer of the other interface, with another body. */
async function answerOf<Body>(
  request: VenueRequest,
  path: string,
  query: VenueRequest['query'],
  as: (body: Body) => unknown,
): Promise<VenueAnswer> {
  const { symbol, pair } = query;
  const market = { ...(symbol && { symbol: linear(symbol) }), ...(pair && { pair: linear(pair) }) };
  const route = binanceUsdm.routes.find((one) => one.path === path);
  const answer = (await route?.answer({ ...request, query: { ...query, ...market } })) ?? binanceUsdm.unknownPath;
  return answer.status === 200 ? json(as(JSON.parse(String(answer.body)))) : answer;
}

/** Contracts in place of the base asset, and that one in place of the quote. */
function inContracts(row: Row, base: string): unknown {
  const contracts = contractsIn(row[7], base);
  return Object.values({ ...row, 5: contracts, 7: row[5], 9: contracts, 10: row[5] });
}

const candles = (kind: string, as: (row: Row, base: string) => unknown = (row) => row): VenueRoute => ({
  path: `/dapi/v1/${kind}`,
  cost: weightOfRows,
  answer(request): VenueAnswer | Promise<VenueAnswer> {
    const { startTime, interval = '', limit = '500' } = request.query;
    const endMs = Number(request.query.endTime ?? request.nowMs);
    if (startTime !== undefined && endMs - Number(startTime) > longestMs)
      return refused(-1127, 'More than 200 days between startTime and endTime.');
    const newestMs = endMs + 1 - Number(limit) * intervalMs[intervals[interval] ?? 'm1'];
    const newest = startTime && { startTime: String(Math.max(Number(startTime), newestMs)) };
    const base = baseOf(request.query.symbol);
    return answerOf(request, `/fapi/v1/${kind}`, { ...request.query, ...newest }, (rows: Row[]) =>
      rows.map((row) => as(row, base)),
    );
  },
});

export const binanceCoinm: Venue = {
  ...binanceUsdm,
  routes: [
    {
      path: '/dapi/v1/exchangeInfo',
      answer: (request) =>
        answerOf(request, '/fapi/v1/exchangeInfo', {}, (info: Row) => ({ ...info, symbols: listed(info) })),
    },
    candles('klines', inContracts),
    ...['markPriceKlines', 'indexPriceKlines', 'premiumIndexKlines'].map((kind) => candles(kind)),
    {
      path: '/dapi/v1/fundingRate',
      answer: (request) =>
        answerOf(request, '/fapi/v1/fundingRate', request.query, (rows: Row[]) =>
          rows.map(({ rateType: _, ...row }) => ({ ...row, symbol: request.query.symbol })),
        ),
    },
    {
      path: '/futures/data/openInterestHist',
      answer(request) {
        const { pair, contractType } = request.query;
        const query = { ...request.query, symbol: `${pair}_PERP` };
        // Contracts, and the base asset.
        return answerOf(request, '/futures/data/openInterestHist', query, (rows: Row[]) =>
          rows.map(({ sumOpenInterest: amount, sumOpenInterestValue: value, timestamp }) => ({
            ...{ pair, contractType, timestamp, sumOpenInterest: contractsIn(value, baseOf(pair)) },
            sumOpenInterestValue: amount,
          })),
        );
      },
    },
  ],
};

function listed({ symbols }: Row): object[] {
  const all = (symbols as Record<string, string>[]).filter(({ contractType }) => contractType === 'PERPETUAL');
  const perpetuals = all.map(({ baseAsset, status, ...row }) => ({
    ...{ ...row, symbol: `${baseAsset}USD_PERP`, pair: `${baseAsset}USD`, contractStatus: status },
    ...{ contractSize: contractSizeOf(baseAsset ?? ''), baseAsset, quoteAsset: 'USD', marginAsset: baseAsset },
  }));
  return [...perpetuals, { ...perpetuals[0], ...future }];
}
