/** The synthetic exchanges and what trades on them. Names are real ones, so that examples read well. */

import type { EpochMs } from '../contract/intervals.ts';
import { originMs } from './calendar.ts';

export interface ExchangePlan {
  readonly id: string;
  readonly name: string;
  readonly exchangeUrl: string;
  readonly socket: boolean;
  /** Its prices against the market as a whole: 0.0002 is 0.02 % above. */
  readonly premium: number;
  /** Whether prices are multiples of a tick, so that their text ends in zeros. */
  readonly ticked: boolean;
}

export const exchangePlans: readonly ExchangePlan[] = [
  {
    id: 'binance',
    name: 'Binance',
    exchangeUrl: 'https://www.binance.com/',
    socket: true,
    premium: 0,
    ticked: false,
  },
  // The address lacks its scheme, as it does for some in the field.
  { id: 'kraken', name: 'Kraken', exchangeUrl: 'kraken.com', socket: false, premium: 0.0003, ticked: true },
  {
    id: 'coinbase',
    name: 'Coinbase',
    exchangeUrl: 'https://pro.coinbase.com/',
    socket: true,
    premium: -0.0002,
    ticked: false,
  },
  {
    id: 'bitso',
    name: 'Bitso',
    exchangeUrl: 'https://bitso.com/',
    socket: false,
    premium: 0.0015,
    ticked: false,
  },
];

/** An exchange that closed: still listed, with most figures null. */
export const closedExchange = Object.freeze({ id: 'cryptopia', name: 'Cryptopia' });

export interface MarketPlan {
  readonly exchangeId: string;
  readonly baseId: string;
  readonly quoteId: string;
  /** Typical turnover of a minute, USD. */
  readonly usdPerMinute: number;
  /** Share of minutes without a trade, and so without a row. */
  readonly missingShare: number;
  /** No rows before this. */
  readonly beganMs: EpochMs;
  /** Times without any row, half-open. */
  readonly suspended: readonly { readonly startMs: EpochMs; readonly endMs: EpochMs }[];
}

const secondHalf2017 = Date.UTC(2017, 6, 1);
/** The market of the documentation's "begins long after the start of a range": dogecoin/tether on binance. */
export const bornIn2019Ms: EpochMs = Date.UTC(2019, 5, 1);

type Row = [
  exchangeId: string,
  baseId: string,
  quoteId: string,
  usdPerMinute: number,
  missingShare?: number,
  beganMs?: EpochMs,
];

const rows: Row[] = [
  ['binance', 'bitcoin', 'tether', 900_000],
  ['binance', 'ethereum', 'tether', 600_000],
  ['binance', 'binance-coin', 'tether', 120_000, 0, secondHalf2017],
  ['binance', 'solana', 'tether', 150_000, 0, Date.UTC(2020, 7, 11, 9, 30)],
  ['binance', 'xrp', 'tether', 90_000],
  ['binance', 'cardano', 'tether', 45_000],
  ['binance', 'dogecoin', 'tether', 60_000, 0, bornIn2019Ms],
  ['binance', 'litecoin', 'tether', 25_000, 0.001],
  ['binance', 'polkadot', 'tether', 20_000, 0.001, Date.UTC(2020, 7, 19)],
  ['binance', 'ethereum', 'bitcoin', 40_000],
  ['binance', 'litecoin', 'bitcoin', 4000, 0.02],
  ['binance', 'golem-(glm)', 'bitcoin', 900, 0.35, Date.UTC(2018, 2, 1)],
  ['binance', 'galleon', 'tether', 700, 0.5, Date.UTC(2021, 9, 5, 13, 7)],
  ['kraken', 'bitcoin', 'united-states-dollar', 130_000],
  ['kraken', 'bitcoin', 'euro', 110_000],
  ['kraken', 'ethereum', 'euro', 60_000, 0.002],
  ['kraken', 'tether', 'united-states-dollar', 50_000, 0.01],
  ['kraken', 'litecoin', 'euro', 3000, 0.2],
  ['kraken', 'xrp', 'euro', 9000, 0.05],
  ['coinbase', 'bitcoin', 'united-states-dollar', 400_000],
  ['coinbase', 'ethereum', 'united-states-dollar', 250_000],
  ['coinbase', 'solana', 'united-states-dollar', 70_000, 0, Date.UTC(2021, 4, 24)],
  ['coinbase', 'bitcoin', 'usd-coin', 15_000, 0.03, Date.UTC(2018, 9, 1)],
  ['coinbase', 'dogecoin', 'united-states-dollar', 30_000, 0.001, Date.UTC(2021, 5, 3)],
  ['bitso', 'bitcoin', 'mexican-peso', 2500, 0.3],
  ['bitso', 'xrp', 'mexican-peso', 600, 0.6],
];

/** The market that stood still for a week: whole days that truly are empty. */
const suspendedWeek = {
  exchangeId: 'kraken',
  baseId: 'litecoin',
  range: { startMs: Date.UTC(2021, 2, 1), endMs: Date.UTC(2021, 2, 8) },
};

export const marketPlans: readonly MarketPlan[] = rows.map(
  ([exchangeId, baseId, quoteId, usdPerMinute, missingShare = 0, beganMs = originMs]) => ({
    exchangeId,
    baseId,
    quoteId,
    usdPerMinute,
    missingShare,
    beganMs,
    suspended:
      exchangeId === suspendedWeek.exchangeId && baseId === suspendedWeek.baseId ? [suspendedWeek.range] : [],
  }),
);
