/**
 * One market's candles, minute by minute.
 *
 * The price is the base's price divided by the quote's, adjusted by the exchange's premium and some noise. A minute
 * opens at the price of its start and closes at the price of the next start. All values are doubles that hold whole
 * numbers, computed with the four IEEE operations, so they are exact and the same on every engine.
 */

import type { EpochMs } from '../model/intervals.ts';
import { dayStartMs, minuteOf, minuteStartMs, minutesPerDay, minutesPerHour } from './calendar.ts';
import type { ExchangePlan, MarketPlan } from './catalogue.ts';
import { type Columns, volumeTailDigits } from './columns.ts';
import { powerOfTen } from './digits.ts';
import type { Outages } from './faults/outages.ts';
import { hashAt, streamKey } from './hash.ts';
import type { Walk } from './walk.ts';

const twoTo32 = 0x1_0000_0000;
const largestPriceUnits = 1e15;
/** The volume of a week must stay below 2^53; no week exceeds five times the typical turnover. */
const largestVolumeUnits = 9e15;
const busiestWeek = 5 * 7 * minutesPerDay;
const noise = 0.0002;

/**
 * Turnover of each hour relative to the mean, UTC: high in the Asian morning, highest when Europe and America overlap.
 */
const hourlyTurnover = [
  1.05, 1.0, 0.95, 0.85, 0.8, 0.75, 0.75, 0.8, 0.9, 0.95, 0.95, 0.95, 1.05, 1.3, 1.55, 1.6, 1.45, 1.25, 1.1, 1.05, 1.05,
  1.0, 0.95, 1.0,
];
const turnover = Float64Array.from({ length: minutesPerDay }, (_, minute) => {
  const hour = Math.floor(minute / minutesPerHour);
  const share = (minute % minutesPerHour) / minutesPerHour;
  return (hourlyTurnover[hour] ?? 1) * (1 - share) + (hourlyTurnover[(hour + 1) % 24] ?? 1) * share;
});

export class SimulatedMarket {
  readonly plan: MarketPlan;
  /** Prices are whole numbers of `10^-priceScale`, volumes of `10^-volumeScale`. */
  readonly priceScale: number;
  readonly priceTailDigits: number;
  readonly volumeScale: number;
  readonly #base: Walk;
  readonly #quote: Walk;
  readonly #outages: Outages;
  readonly #premium: number;
  readonly #key: number;
  readonly #basePrices = new Float64Array(minutesPerDay + 1);
  readonly #quotePrices = new Float64Array(minutesPerDay + 1);
  readonly #prices = new Float64Array(minutesPerDay + 1);

  constructor(seed: string, plan: MarketPlan, exchange: ExchangePlan, base: Walk, quote: Walk, outages: Outages) {
    this.plan = plan;
    this.#base = base;
    this.#quote = quote;
    this.#outages = outages;
    this.#premium = 1 + exchange.premium;
    this.#key = streamKey(seed, 'market', plan.exchangeId, plan.baseId, plan.quoteId);
    const highest = base.highestUsd / quote.lowestUsd;
    const tick = highest > 1000 ? 2 : highest > 1 ? 5 : 8;
    this.priceScale = exchange.ticked ? tick : scaleBelow(largestPriceUnits, highest, 16);
    this.priceTailDigits = exchange.ticked ? 0 : 16 - this.priceScale;
    const coins = (plan.usdPerMinute / base.lowestUsd) * busiestWeek;
    this.volumeScale = scaleBelow(largestVolumeUnits, coins, 16 - volumeTailDigits);
  }

  /** Price units at a minute counted from the origin. */
  priceAt(minute: number): number {
    return this.#price(minute, this.#base.at(minute), this.#quote.at(minute));
  }

  /** Writes the day's 1,440 candles as of `nowMs`: later minutes are absent, and the current one is open. */
  fillDay(day: number, nowMs: EpochMs, into: Columns): void {
    this.#fillPrices(day);
    this.#fillCandles(day, into);
    this.#clear(day, into);
    const running = minuteOf(nowMs) - day * minutesPerDay;
    if (running >= minutesPerDay) return;
    into.open.fill(0, Math.max(0, running + 1));
    if (running >= 0) this.#leaveOpen(into, running, nowMs - minuteStartMs(minuteOf(nowMs)));
  }

  #price(minute: number, base: number, quote: number): number {
    const wobble = this.#premium + noise * (hashAt(this.#key, 4 * minute) / twoTo32 - 0.5);
    const unit = powerOfTen(this.priceScale) * powerOfTen(this.#quote.scale);
    const price = Math.floor(((base * unit) / (quote * powerOfTen(this.#base.scale))) * wobble + 0.5);
    return Math.max(price, 1);
  }

  #fillPrices(day: number): void {
    this.#base.minutes(day, this.#basePrices);
    this.#quote.minutes(day, this.#quotePrices);
    const first = day * minutesPerDay;
    for (let at = 0; at <= minutesPerDay; at++) {
      this.#prices[at] = this.#price(first + at, this.#basePrices[at] as number, this.#quotePrices[at] as number);
    }
  }

  #fillCandles(day: number, into: Columns): void {
    const { missingShare, usdPerMinute } = this.plan;
    const missingBelow = missingShare * twoTo32;
    const volatility = this.#base.volatilityOn(day) + 0.0005;
    const wickSize = (volatility * 0.03) / (0x10000 * 0x10000);
    const volumeUnit = powerOfTen(this.volumeScale) * powerOfTen(this.#base.scale);
    const usd = usdPerMinute * activity(day, volatility / this.#base.typicalVolatility) * volumeUnit;
    for (let at = 0, position = 4 * day * minutesPerDay; at < minutesPerDay; at++, position += 4) {
      const size = hashAt(this.#key, position + 1);
      if (missingBelow > 0 && hashAt(this.#key ^ 0x33333333, position) < missingBelow) {
        into.open[at] = 0;
        continue;
      }
      const open = this.#prices[at] as number;
      const close = this.#prices[at + 1] as number;
      const wick = hashAt(this.#key, position + 2);
      const up = wick >>> 16;
      const down = wick & 0xffff;
      into.open[at] = open;
      into.close[at] = close;
      const upper = Math.max(open, close);
      const lower = Math.min(open, close);
      into.high[at] = Math.max(upper, Math.floor(upper * (1 + wickSize * up * up)));
      // Without a wick, rounding could lift the low above the body.
      into.low[at] = Math.min(lower, Math.floor(lower * (1 - wickSize * down * down) + 0.999));
      // Mostly small trades with occasional bursts: the cube of a uniform, times eight in one of 256 minutes.
      const share = size / twoTo32;
      const burst = (size & 255) === 0 ? 8 : 1;
      const amount = (turnover[at] as number) * (0.1 + 2.4 * share * share * share) * burst;
      into.volume[at] = Math.floor((usd * amount) / (this.#basePrices[at] as number));
      into.tail[at] = Math.floor((hashAt(this.#key, position + 3) * 1e8) / twoTo32);
    }
  }

  /** Removes the minutes before the market began, in suspensions and in outages. */
  #clear(day: number, into: Columns): void {
    const first = day * minutesPerDay;
    const remove = (startMinute: number, endMinute: number) => {
      const from = Math.max(0, startMinute - first);
      if (from < minutesPerDay && endMinute > first) into.open.fill(0, from, endMinute - first);
    };
    const { beganMs, suspended } = this.plan;
    if (beganMs > dayStartMs(day)) remove(first, minuteOf(beganMs));
    for (const range of suspended) remove(minuteOf(range.startMs), minuteOf(range.endMs));
    for (const outage of this.#outages(day, this.#key)) remove(first + outage.start, first + outage.end);
  }

  /**
   * The state of minute `at` after `elapsedMs`. Its open is fixed, its range and volume only grow, and it ends as the
   * closed candle.
   */
  #leaveOpen(columns: Columns, at: number, elapsedMs: number): void {
    const open = columns.open[at] as number;
    if (open === 0) return;
    if (elapsedMs === 0) {
      columns.open[at] = 0;
      return;
    }
    const share = elapsedMs / 60_000;
    const close = Math.round(open + ((columns.close[at] as number) - open) * share);
    columns.close[at] = close;
    if (share < 0.35) columns.high[at] = Math.max(open, close);
    if (share < 0.6) columns.low[at] = Math.min(open, close);
    columns.volume[at] = Math.floor((columns.volume[at] as number) * share);
    columns.tail[at] = 0;
  }
}

/**
 * Turnover of a day relative to the typical one: higher in volatile weeks, lower at weekends, growing over the years.
 */
function activity(day: number, storm: number): number {
  const weekday = (day + 5) % 7;
  const weekend = weekday === 0 || weekday === 6 ? 0.7 : 1;
  const years = Math.max(0.1, Math.min(1, (day - 1000) / 5000));
  return weekend * years * Math.min(4, 0.4 + 0.6 * storm);
}

/** The largest scale, up to `most`, at which `value` stays below `limit` units. */
function scaleBelow(limit: number, value: number, most: number): number {
  let scale = most;
  while (scale > 0 && value * powerOfTen(scale) > limit) scale--;
  return scale;
}
