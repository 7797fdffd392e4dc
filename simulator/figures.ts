/**
 * Figures of each market for the snapshots: the current price and the turnover of 24 hours.
 *
 * "24 hours" are the 24 whole hours before the current one, so the turnover is computed once an hour. All figures are
 * whole numbers of 10^-16. They are exact except that divisions round down.
 */

import { dayMs, type EpochMs, hourMs } from '../model/intervals.ts';
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

/** @returns the figures of every market that has begun, at the minute of `nowMs`. */
export function createFigures(world: World): (nowMs: EpochMs) => readonly MarketFigures[] {
  const turnovers = new Map<TradedMarket, ReturnType<typeof turnoverOf> & { readonly hour: number }>();
  let known: { readonly minute: number; readonly figures: readonly MarketFigures[] } | null = null;

  function ofMarket(traded: TradedMarket, minute: number, nowMs: EpochMs): MarketFigures {
    const { priceScale, priceTailDigits } = traded.market;
    const units = traded.market.priceAt(minute);
    const priceQuote = amountUnits(units, priceScale, priceTail(units, priceTailDigits), priceTailDigits);
    const priceUsd = (priceQuote * usdPriceAt(traded.quote.walk, minute)) / one;
    const hour = Math.floor(nowMs / hourMs);
    let turnover = turnovers.get(traded);
    if (turnover?.hour !== hour) {
      turnover = { hour, ...turnoverOf(traded, hour * hourMs, nowMs) };
      turnovers.set(traded, turnover);
    }
    const { volume, hourlyTurnoverUsd } = turnover;
    return { traded, priceQuote, priceUsd, volume, volumeUsd: (volume * priceUsd) / one, hourlyTurnoverUsd };
  }

  return (nowMs) => {
    const minute = minuteOf(nowMs);
    if (known?.minute === minute) return known.figures;
    const figures = [...world.markets.values()]
      .filter((traded) => traded.plan.beganMs <= nowMs)
      .map((traded) => ofMarket(traded, minute, nowMs));
    known = { minute, figures };
    return figures;
  };
}

/** The sums over the 24 hours before `endMs`. */
function turnoverOf(traded: TradedMarket, endMs: EpochMs, nowMs: EpochMs) {
  const { volumeScale } = traded.market;
  let volume = 0n;
  let hourlyTurnoverUsd = 0n;
  for (let startMs = endMs - dayMs; startMs < endMs; startMs += hourMs) {
    const day = dayOf(startMs);
    const hours = traded.candles.hours(day, nowMs);
    const at = (startMs - dayStartMs(day)) / hourMs;
    if (hours.open[at] === 0) continue;
    const coins = amountUnits(hours.volume[at] ?? 0, volumeScale, hours.tail[at] ?? 0, volumeTailDigits);
    volume += coins;
    hourlyTurnoverUsd += (coins * usdPriceAt(traded.base.walk, minuteOf(startMs))) / one;
  }
  return { volume, hourlyTurnoverUsd };
}

/** Price in USD at a minute counted from the origin, as a whole number of 10^-16. */
export function usdPriceAt(walk: Walk, minute: number): bigint {
  const units = walk.at(minute);
  return amountUnits(units, walk.scale, priceTail(units, walk.tailDigits), walk.tailDigits);
}
