/**
 * Kraken's REST interface for spot markets: OHLC and the list of pairs.
 *
 * Source: docs.kraken.com, "Get OHLC Data" and "Get Tradable Asset Pairs". It keeps the newest 721 periods. A period
 * without a trade has a row without volume. Kraken begins its weeks on Thursday, so weeks are left out here. Errors,
 * also of too many requests, come with status 200.
 */

import type { CandleInterval } from '../../model/datasets/candles.ts';
import { type EpochMs, intervalMs, periodStart } from '../../model/intervals.ts';
import type { Candle } from '../../v2/resources.ts';
import {
  json,
  type Venue,
  type VenueAnswer,
  type VenueData,
  type VenueMarket,
  type VenueRequest,
  wholeOf,
} from './venue.ts';

/** By their minutes. */
const intervals: Readonly<Record<string, CandleInterval>> = {
  1: 'm1',
  5: 'm5',
  15: 'm15',
  30: 'm30',
  60: 'h1',
  240: 'h4',
  1440: 'd1',
};

const maxRows = 721;
/** Kraken's own codes, and the first assets' codes, which have a prefix in the keys of pairs. */
const codes: Readonly<Record<string, string>> = { BTC: 'XBT', DOGE: 'XDG' };
const prefixes: Readonly<Record<string, string>> = {
  XBT: 'X',
  ETH: 'X',
  LTC: 'X',
  XRP: 'X',
  XDG: 'X',
  USD: 'Z',
  EUR: 'Z',
};

const failed = (error: string) => json({ error: [error] });

export const kraken: Venue = {
  exchange: 'kraken',
  // The size of the burst is not documented; some 30 have been seen.
  limit: { amount: 1, periodMs: 1000, kind: 'bucket', burst: 15 },
  refuse: () => failed('EGeneral:Too many requests'),
  failure: { ...failed('EGeneral:Internal error'), status: 500 },
  unknownPath: { ...failed('EGeneral:Unknown method'), status: 404 },
  routes: [
    { path: '/0/public/OHLC', answer: ohlc },
    { path: '/0/public/AssetPairs', answer: assetPairs },
  ],
};

interface Pair {
  readonly key: string;
  readonly altname: string;
  readonly wsname: string;
  readonly base: string;
  readonly quote: string;
  readonly market: VenueMarket;
}

function pairsOf(data: VenueData): Pair[] {
  return data.markets.map((market) => {
    const [base, quote] = [codes[market.base] ?? market.base, codes[market.quote] ?? market.quote];
    const assets = { base: (prefixes[base] ?? '') + base, quote: (prefixes[quote] ?? '') + quote };
    const key = assets.base + assets.quote;
    return { key, altname: base + quote, wsname: `${base}/${quote}`, ...assets, market };
  });
}

function pairNamed(data: VenueData, name: string | undefined): Pair | undefined {
  return pairsOf(data).find(({ key, altname, wsname }) => [key, altname, wsname].includes(name ?? ''));
}

function ohlc({ query, data, nowMs }: VenueRequest): VenueAnswer {
  const { pair: name, interval: minutes = '1', since = '0' } = query;
  if (name === undefined) return failed('EGeneral:Invalid arguments');
  const pair = pairNamed(data, name);
  if (pair === undefined) return failed('EQuery:Unknown asset pair');
  const interval = intervals[minutes];
  if (interval === undefined || wholeOf(since) === null) return failed('EGeneral:Invalid arguments');

  const openMs = periodStart(nowMs, interval);
  const rows = data.cut(
    filled(data, pair.market, interval, openMs).filter(
      // The open row is always present; `since` itself is not.
      ({ period }) => period > Number(since) * 1000 || period === openMs,
    ),
  );
  // Of the newest closed period.
  const closed = data.answerForm === 'open-rows' ? 2 : 1;
  const last = (openMs - closed * intervalMs[interval]) / 1000;
  const key = data.answerForm === 'another-market' ? `${pair.key}X` : pair.key;
  return json({ error: [], result: { [key]: rows.map(row), last } });
}

/** The newest periods with the open one. A period without a trade has the previous close and no volume. */
function filled(data: VenueData, market: VenueMarket, interval: CandleInterval, openMs: EpochMs): Candle[] {
  const stepMs = intervalMs[interval];
  const startMs = openMs - (maxRows - 1) * stepMs;
  const traded = new Map(
    data.candles(market, interval, { startMs, endMs: openMs + stepMs }).map((candle) => [candle.period, candle]),
  );
  let close = data.lastBefore(market, interval, startMs)?.close;
  const rows: Candle[] = [];
  for (let period = startMs; period <= openMs; period += stepMs) {
    const candle = traded.get(period);
    close = candle?.close ?? close;
    if (candle !== undefined) rows.push(candle);
    else if (close !== undefined) rows.push({ open: close, high: close, low: close, close, volume: noVolume, period });
  }
  return rows;
}

const noVolume = '0.00000000' as Candle['volume'];

/** The mean price and the count are made up. */
function row({ period, open, high, low, close, volume }: Candle): (number | string)[] {
  const isTraded = volume !== noVolume;
  return [period / 1000, open, high, low, close, isTraded ? close : '0.0', volume, isTraded ? 7 : 0];
}

function assetPairs({ query, data }: VenueRequest): VenueAnswer {
  const names = query.pair?.split(',');
  const found = names === undefined ? pairsOf(data) : names.map((name) => pairNamed(data, name));
  const pairs = found.filter((pair) => pair !== undefined);
  if (pairs.length < found.length) return failed('EQuery:Unknown asset pair');
  const result = pairs.map(({ key, market: _, ...names }) => [
    key,
    {
      ...names,
      aclass_base: 'currency',
      aclass_quote: 'currency',
      lot: 'unit',
      cost_decimals: 5,
      pair_decimals: 5,
      lot_decimals: 8,
      lot_multiplier: 1,
      status: 'online',
    },
  ]);
  return json({ error: [], result: Object.fromEntries(result) });
}
