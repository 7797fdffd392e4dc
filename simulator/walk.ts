/**
 * The price of one currency in USD, minute by minute: a random walk of which any minute can be computed alone.
 *
 * It has three layers: a daily walk with clustered volatility around a growing trend, a bridge of 24 hours between two
 * days, and a bridge of 60 minutes between two hours. A bridge is a random walk with fixed ends from the next coarser
 * layer, so the layers agree exactly at shared points. Only the daily layer is stored, one number a day.
 */

import { hoursPerDay, minutesPerDay, minutesPerHour } from './calendar.ts';
import { powerOfTen } from './digits.ts';
import { normalAt, streamKey, uniformAt } from './hash.ts';

export interface WalkShape {
  readonly id: string;
  /** Price at the origin, USD. */
  readonly startUsd: number;
  /** Daily growth factor of the trend. */
  readonly dailyGrowth: number;
  /** Typical deviation of a day's return: 0.03 is 3 %. Zero: a constant price. */
  readonly dailyVolatility: number;
  /** Share of the distance to the trend that is recovered each day. */
  readonly pull: number;
}

// The trend grows from 2014 to 2026 and then stays constant, so that prices are bounded and units fit.
const growthFirstDay = 1461;
const growthLastDay = 5844;
const weatherDays = 25;
const ratioBounds = { lowest: 0.25, highest: 4 };
/** The sum of a day's 1,440 prices must stay below 2^53. */
const largestUnits = 6e12;

/** Volatility of each hour relative to its day: lowest at 4:00 UTC, highest when the American day begins. */
const hourlyVolatility = [
  1.0, 0.9, 0.8, 0.75, 0.7, 0.75, 0.8, 0.9, 1.0, 1.0, 0.95, 0.95, 1.05, 1.3, 1.5, 1.5, 1.4, 1.25, 1.15, 1.1, 1.1, 1.05,
  1.0, 1.0,
];
const hourStep = Math.sqrt(1 / hoursPerDay);
const minuteStep = Math.sqrt(1 / minutesPerDay);

export class Walk {
  /** Prices are whole numbers of `10^-scale` USD. */
  readonly scale: number;
  /** Digits of a price below its units; 0 for a constant price, which is exact. */
  readonly tailDigits: number;
  readonly highestUsd: number;
  readonly lowestUsd: number;
  readonly #shape: WalkShape;
  readonly #dayKey: number;
  readonly #hourKey: number;
  readonly #minuteKey: number;
  readonly #prices: number[] = [];
  readonly #volatilities: number[] = [];
  #trend: number;
  #ratio = 1;
  #volatility: number;
  readonly #hours = new Float64Array(hoursPerDay + 1);

  constructor(seed: string, shape: WalkShape) {
    this.#shape = shape;
    this.#dayKey = streamKey(seed, 'day', shape.id);
    this.#hourKey = streamKey(seed, 'hour', shape.id);
    this.#minuteKey = streamKey(seed, 'minute', shape.id);
    this.#trend = shape.startUsd;
    this.#volatility = shape.dailyVolatility;
    let highest = shape.startUsd;
    for (let day = growthFirstDay; day < growthLastDay; day++) highest *= shape.dailyGrowth;
    const constant = shape.dailyVolatility === 0;
    this.highestUsd = constant ? shape.startUsd : highest * ratioBounds.highest;
    this.lowestUsd = constant ? shape.startUsd : shape.startUsd * ratioBounds.lowest;
    let scale = 16;
    while (this.highestUsd * powerOfTen(scale) > largestUnits) scale--;
    this.scale = scale;
    this.tailDigits = constant ? 0 : 16 - scale;
  }

  /** Typical deviation of a day's return; 1 for a constant price, so that it can be a divisor. */
  get typicalVolatility(): number {
    return this.#shape.dailyVolatility || 1;
  }

  /** Deviation of the day's return. */
  volatilityOn(day: number): number {
    this.#extendTo(day);
    return this.#volatilities[day] ?? 0;
  }

  /** Writes the 25 prices at the day's hours, both midnights included, into `into`. */
  hours(day: number, into: Float64Array): void {
    this.#extendTo(day + 1);
    const from = this.#prices[day] ?? 0;
    const to = this.#prices[day + 1] ?? 0;
    const step = from * hourStep * (this.#volatilities[day] ?? 0);
    const position = day * hoursPerDay;
    let sum = 0;
    for (let hour = 0; hour < hoursPerDay; hour++) {
      into[hour] = sum;
      sum += normalAt(this.#hourKey, position + hour) * (hourlyVolatility[hour] ?? 1);
    }
    bridge(into, 0, hoursPerDay, from, to, sum, step);
  }

  /** Writes the 1,441 prices at the day's minutes, both midnights included, into `into`. */
  minutes(day: number, into: Float64Array): void {
    const hours = this.#hours;
    this.hours(day, hours);
    for (let hour = 0; hour < hoursPerDay; hour++) {
      this.#fillHour(day, hour, hours[hour] ?? 0, hours[hour + 1] ?? 0, into, hour * minutesPerHour);
    }
  }

  /** Price at a minute counted from the origin. */
  at(minute: number): number {
    const day = Math.floor(minute / minutesPerDay);
    const hour = Math.floor((minute - day * minutesPerDay) / minutesPerHour);
    const hours = this.#hours;
    this.hours(day, hours);
    const prices = new Float64Array(minutesPerHour + 1);
    this.#fillHour(day, hour, hours[hour] ?? 0, hours[hour + 1] ?? 0, prices, 0);
    return prices[minute - day * minutesPerDay - hour * minutesPerHour] ?? 0;
  }

  #fillHour(day: number, hour: number, from: number, to: number, into: Float64Array, offset: number): void {
    const step = from * minuteStep * (this.#volatilities[day] ?? 0) * (hourlyVolatility[hour] ?? 1);
    const position = (day * hoursPerDay + hour) * minutesPerHour;
    const key = this.#minuteKey;
    let sum = 0;
    for (let minute = 0; minute < minutesPerHour; minute++) {
      into[offset + minute] = sum;
      sum += normalAt(key, position + minute);
    }
    bridge(into, offset, minutesPerHour, from, to, sum, step);
  }

  #extendTo(day: number): void {
    const { dailyVolatility, dailyGrowth, pull } = this.#shape;
    for (let at = this.#prices.length; at <= day; at++) {
      this.#prices.push(Math.max(1, Math.round(this.#trend * this.#ratio * powerOfTen(this.scale))));
      this.#volatilities.push(this.#volatility);
      const move = this.#volatility * normalAt(this.#dayKey, 2 * at) + pull * (1 - this.#ratio);
      const ratio = this.#ratio * (1 + Math.max(-0.4, Math.min(0.4, move)));
      this.#ratio = Math.max(ratioBounds.lowest, Math.min(ratioBounds.highest, ratio));
      if (at >= growthFirstDay && at < growthLastDay) this.#trend *= dailyGrowth;
      // Calm and volatile periods of a few weeks: mostly below the typical volatility, occasionally far above.
      const chance = uniformAt(this.#dayKey, 2 * Math.floor(at / weatherDays) + 1);
      const target = dailyVolatility * (0.5 + 2.5 * chance * chance * chance);
      this.#volatility += 0.15 * (target - this.#volatility);
    }
  }
}

/** Turns the walk in `into` (from 0 to `sum`) into prices from `from` to `to`, rounded to whole units. */
function bridge(
  into: Float64Array,
  offset: number,
  steps: number,
  from: number,
  to: number,
  sum: number,
  step: number,
): void {
  const drift = (to - from - sum * step) / steps;
  for (let at = 1; at < steps; at++) {
    const price = Math.floor(from + drift * at + (into[offset + at] ?? 0) * step + 0.5);
    into[offset + at] = Math.max(price, 1);
  }
  into[offset] = from;
  into[offset + steps] = to;
}
