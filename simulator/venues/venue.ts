/** A simulated venue: its routes, limits and errors over the markets of one synthetic exchange. */

import type { HistoryInterval } from '../../model/datasets/asset-history.ts';
import type { CandleInterval } from '../../model/datasets/candles.ts';
import type { DecimalText } from '../../model/decimal.ts';
import { dayMs, type EpochMs, intervalMs, periodStart, type Range } from '../../model/intervals.ts';
import type { MarketData } from '../../service/market-data.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import { assetPlans, currencyPlans, type MarketPlan, marketPlans } from '../catalogue.ts';
import { type FundingEvent, fundingEvents, perpetualCandle } from '../derivatives.ts';
import { fixedText, fractionDigits } from '../digits.ts';
import { type AnswerForm, contradicting, type Faults, shiftedByMs } from '../faults/faults.ts';
import type { Simulator } from '../simulator.ts';
import type { LimitRefusal, VenueLimit } from './limits.ts';

export const venueNames = [
  'binance',
  'binance-us',
  'binance-coinm',
  'binance-usdm',
  'binance-usdm-funding',
  'binance-usdm-data',
  'kraken',
  'coinbase',
  'bybit',
  'bybit-linear',
  'okx',
  'okx-swap',
  'okx-swap-data',
  'coincap-v3',
  'binance-archive',
  'binance-archive-daily',
  'binance-usdm-archive',
  'binance-usdm-archive-daily',
] as const;

export type VenueName = (typeof venueNames)[number];

export interface VenueAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface VenueMarket extends MarketPlan {
  /** Codes of the assets, such as `BTC`. */
  readonly base: string;
  readonly quote: string;
  /** Candles are those of a perpetual, by its spot market. */
  readonly isPerpetual?: boolean;
}

export interface VenueRequest {
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly header: (name: string) => string | undefined;
  readonly nowMs: EpochMs;
  readonly data: VenueData;
}

export interface VenueRoute {
  /** As Fastify writes it, after the base address. */
  readonly path: string;
  /** In the unit of the limit, or by what is asked for. Default: 1. */
  readonly cost?: number | ((query: VenueRequest['query']) => number);
  /** A limit of this route alone, in place of the venue's. */
  readonly limit?: VenueLimit;
  readonly answer: (request: VenueRequest) => VenueAnswer | Promise<VenueAnswer>;
}

/** What some venues ask for or count. */
export interface VenueOptions {
  /** The only valid key. Default: none is asked for. */
  readonly apiKey?: string;
  /** Default: unlimited. */
  readonly creditsPerMonth?: number;
}

export interface Venue {
  /** The synthetic exchange whose markets it has; null: it is none. */
  readonly exchange: string | null;
  /** The end of the base address. Default: none. */
  readonly basePath?: string;
  readonly limit: VenueLimit;
  readonly routes: readonly VenueRoute[];
  /** Headers of every answer, by the use of the address. */
  readonly headers?: (used: number) => Readonly<Record<string, string>>;
  /** Refuses a request for another reason than its limit. */
  readonly admit?: (request: VenueRequest) => VenueAnswer | null;
  /** Counts what an answer costs. */
  readonly sent?: (answer: { readonly status: number; readonly bytes: number; readonly nowMs: EpochMs }) => void;
  /** Credits of the current month. */
  readonly creditsUsed?: (nowMs: EpochMs) => number;
  /** A refusal by the limit that ends `inMs` from now, at `freeAtMs` by the venue's clock. */
  readonly refuse: (refusal: LimitRefusal & { readonly inMs: number }) => VenueAnswer;
  readonly failure: VenueAnswer;
  readonly unknownPath: VenueAnswer;
}

export function json(value: unknown, status = 200): VenueAnswer {
  return { status, body: JSON.stringify(value) };
}

/** A whole number of a query; null if it is none. */
export function wholeOf(text: string): number | null {
  return /^\d{1,16}$/.test(text) ? Number(text) : null;
}

/** The data of one venue as one request sees them. */
export class VenueData {
  /** In the order of the catalogue. */
  readonly markets: readonly VenueMarket[];
  /** The lists of the whole synthetic market. */
  readonly service: MarketData;
  /** Whether the request draws the fault of an empty answer. */
  readonly isEmpty: boolean;
  readonly #simulator: Simulator;
  readonly #faults: Faults;
  readonly #nowMs: EpochMs;

  constructor(
    { exchange }: Venue,
    simulator: Simulator,
    at: { readonly service: MarketData; readonly faults: Faults; readonly isEmpty: boolean; readonly nowMs: EpochMs },
  ) {
    this.markets = marketsOf(exchange).filter((market) => market.beganMs <= at.nowMs);
    this.service = at.service;
    this.isEmpty = at.isEmpty;
    this.#simulator = simulator;
    this.#faults = at.faults;
    this.#nowMs = at.nowMs;
  }

  /** Share of an archive's files with a defect. */
  get badFileRate(): number {
    return this.#faults.badFileRate;
  }

  /** Periods before the start of a range that the faults add. */
  get rowsBeforeStart(): number {
    return this.#faults.rowsBeforeStart;
  }

  get answerForm(): AnswerForm {
    return this.#faults.answerForm;
  }

  /** All candles that begin in `range`, ascending. */
  candles(market: VenueMarket, interval: CandleInterval, range: Range): Candle[] {
    const { exchangeId: exchange, baseId, quoteId } = market;
    const series = { dataset: 'candles', exchange, baseId, quoteId, interval } as const;
    const spot = this.#simulator.candles(series, range, this.#nowMs) ?? [];
    const candles: VenueCandle[] = market.isPerpetual
      ? spot.map((candle) => perpetualCandle(market.base + market.quote, candle))
      : spot;
    return this.answerForm === 'exchanged-volumes'
      ? candles.map((candle) => ({ ...candle, volume: turnoverOf(candle), turnover: candle.volume }))
      : candles;
  }

  /** The points of an asset's history, ascending; null: an unknown asset. */
  history(assetId: string, interval: HistoryInterval, range: Range): HistoryPoint[] | null {
    return this.#simulator.history({ dataset: 'asset_history', assetId, interval }, range, this.#nowMs);
  }

  /** The funding events of a market, ascending, as the faults leave them. */
  fundingEvents(symbol: string, range: Range): FundingEvent[] {
    const { doubledEvents, shiftedEvents } = this.#faults;
    return fundingEvents(symbol, range).flatMap((event) => {
      const { timeMs, statedMs } = event;
      if (this.lacks(timeMs)) return [];
      if (doubledEvents.includes(timeMs)) return [event, { ...event, rate: fixedText(1_000_000n, 8) }];
      return shiftedEvents.includes(timeMs) ? [{ ...event, statedMs: statedMs + shiftedByMs }] : [event];
    });
  }

  /** Whether the faults remove the funding event, or the statistics, of a time. */
  lacks(timeMs: EpochMs): boolean {
    return this.#faults.missingPoints.includes(timeMs);
  }

  /** The oldest or newest `limit` candles that begin in `range`, ascending, cut as the faults say. */
  page(
    market: VenueMarket,
    interval: CandleInterval,
    range: Range,
    { limit, keep }: { readonly limit: number; readonly keep: 'oldest' | 'newest' },
  ): Candle[] {
    const firstMs = Math.max(range.startMs, periodStart(market.beganMs, interval));
    const lastMs = Math.min(range.endMs, this.#nowMs + 1);
    // Read in parts: a range may be years, and periods without a trade have no candle.
    const partMs = Math.max(1, limit) * intervalMs[interval];
    const rows: Candle[] = [];
    for (let readMs = 0; readMs < lastMs - firstMs && rows.length < limit; readMs += partMs) {
      if (keep === 'oldest') {
        const startMs = firstMs + readMs;
        rows.push(...this.candles(market, interval, { startMs, endMs: Math.min(startMs + partMs, lastMs) }));
      } else {
        const endMs = lastMs - readMs;
        rows.unshift(...this.candles(market, interval, { startMs: Math.max(endMs - partMs, firstMs), endMs }));
      }
    }
    return this.cut(keep === 'oldest' ? rows.slice(0, limit) : rows.slice(Math.max(0, rows.length - limit)));
  }

  /** The last candle before a time; undefined before the first. */
  lastBefore(market: VenueMarket, interval: CandleInterval, timeMs: EpochMs): Candle | undefined {
    const firstMs = periodStart(market.beganMs, interval);
    for (let rangeMs = dayMs; ; rangeMs *= 8) {
      const startMs = Math.max(timeMs - rangeMs, firstMs);
      const last = this.candles(market, interval, { startMs, endMs: timeMs }).at(-1);
      if (last !== undefined || startMs <= firstMs) return last;
    }
  }

  /** Ascending rows as the faults leave them. */
  cut<Row extends object>(rows: Row[]): Row[] {
    const { maxRows, capKeeps } = this.#faults;
    if (this.isEmpty) return [];
    if (maxRows === null) return contradicting(rows, this.answerForm);
    const kept = capKeeps === 'oldest' ? rows.slice(0, maxRows) : rows.slice(-maxRows);
    return contradicting(kept, this.answerForm);
  }
}

function marketsOf(exchange: string | null): VenueMarket[] {
  const symbols = new Map([...assetPlans, ...currencyPlans].map(({ id, symbol }) => [id, symbol]));
  return marketPlans
    .filter((plan) => plan.exchangeId === exchange)
    .map((plan) => ({ ...plan, base: symbols.get(plan.baseId) ?? '', quote: symbols.get(plan.quoteId) ?? '' }));
}

/** A candle with a volume in the quote asset of its own; absent: that of {@link turnoverOf}. */
type VenueCandle = Candle & { readonly turnover?: DecimalText };

/** Traded amount in the quote asset: volume times close, rounded down to 16 fraction digits. */
export function turnoverOf({ volume, close, turnover }: VenueCandle): DecimalText {
  if (turnover !== undefined) return turnover;
  return fixedText((units(volume) * units(close)) / units('1.0000000000000000'));
}

function units(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.slice(0, fractionDigits).padEnd(fractionDigits, '0'));
}
