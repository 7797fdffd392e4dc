/**
 * Figures of each market for the snapshots: the current price and the turnover of 24 hours.
 *
 * "24 hours" are the 24 whole hours before the current one, so the turnover is computed once an hour. All figures are whole
 * numbers of 10^-16. They are exact except that divisions round down.
 */

import { dayMs, type EpochMs, hourMs } from '../contract/intervals.ts';
import { dayOf, dayStartMs, minuteOf } from './calendar.ts';
import { volumeTailDigits } from './columns.ts';
import { amountUnits, priceTail } from './digits.ts';
import type { Walk } from './walk.ts';
import type { TradedMarket, World } from './world.ts';

/** One, as a whole number of 10^-16. */
export const one = 10n ** 16n;

export interface MarketFigures {
  readonly traded: TradedMarket;
  readonly priceQuote: bigint;
  readonly priceUsd: bigint;
  /** Coins of the base asset; zero without trades. */
  readonly volume: bigint;
  readonly volumeUsd: bigint;
  /** Sum over the hours of coins times price, USD, for the volume-weighted mean. */
  readonly hourlyTurnoverUsd: bigint;
}

interface Turnover {
  readonly hour: number;
  readonly volume: bigint;
  readonly turnoverUsd: bigint;
}

export class Figures {
  readonly #world: World;
  readonly #turnovers = new Map<TradedMarket, Turnover>();
  #minute = -1;
  #figures: readonly MarketFigures[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Figures of every market that has begun, at the minute of `nowMs`. */
  at(nowMs: EpochMs): readonly MarketFigures[] {
    const minute = minuteOf(nowMs);
    if (minute !== this.#minute) {
      this.#figures = [...this.#world.markets.values()]
        .filter((traded) => traded.plan.beganMs <= nowMs)
        .map((traded) => this.#market(traded, minute, nowMs));
      this.#minute = minute;
    }
    return this.#figures;
  }

  #market(traded: TradedMarket, minute: number, nowMs: EpochMs): MarketFigures {
    const { priceScale, priceTailDigits } = traded.market;
    const units = traded.market.priceAt(minute);
    const priceQuote = amountUnits(units, priceScale, priceTail(units, priceTailDigits), priceTailDigits);
    const priceUsd = (priceQuote * usdPriceAt(traded.quote.walk, minute)) / one;
    const { volume, turnoverUsd } = this.#turnover(traded, nowMs);
    const volumeUsd = (volume * priceUsd) / one;
    return { traded, priceQuote, priceUsd, volume, volumeUsd, hourlyTurnoverUsd: turnoverUsd };
  }

  #turnover(traded: TradedMarket, nowMs: EpochMs): Turnover {
    const hour = Math.floor(nowMs / hourMs);
    const known = this.#turnovers.get(traded);
    if (known?.hour === hour) return known;
    let volume = 0n;
    let turnoverUsd = 0n;
    const endMs = hour * hourMs;
    for (let startMs = endMs - dayMs; startMs < endMs; startMs += hourMs) {
      const day = dayOf(startMs);
      const hours = traded.candles.hours(day, nowMs);
      const at = (startMs - dayStartMs(day)) / hourMs;
      if (hours.open[at] === 0) continue;
      const { volumeScale } = traded.market;
      const coins = amountUnits(hours.volume[at] ?? 0, volumeScale, hours.tail[at] ?? 0, volumeTailDigits);
      volume += coins;
      turnoverUsd += (coins * usdPriceAt(traded.base.walk, minuteOf(startMs))) / one;
    }
    const turnover = { hour, volume, turnoverUsd };
    this.#turnovers.set(traded, turnover);
    return turnover;
  }
}

/** Price in USD at a minute counted from the origin, as a whole number of 10^-16. */
export function usdPriceAt(walk: Walk, minute: number): bigint {
  const units = walk.at(minute);
  return amountUnits(units, walk.scale, priceTail(units, walk.tailDigits), walk.tailDigits);
}
