/**
 * Candles of all intervals, aggregated from minutes.
 *
 * Intervals below an hour are aggregated from the minutes of the requested days. Longer intervals are aggregated from
 * cached hours: computing a year of minutes takes about 25 ms, and reading a year of cached hours almost nothing.
 */

import { LRUCache } from 'lru-cache';
import type { CandleInterval } from '../model/datasets/candles.ts';
import type { DecimalText } from '../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, intervalMs, minuteMs, periodStart } from '../model/intervals.ts';
import type { TimeRange } from '../model/series.ts';
import type { Candle } from '../v2/resources.ts';
import { dayOf, dayStartMs, hoursPerDay, minutesPerDay, minutesPerHour, originMs } from './calendar.ts';
import { aggregate, type Columns, columns, copyCandle, volumeTailDigits } from './columns.ts';
import { amountText, priceTail } from './digits.ts';
import type { SimulatedMarket } from './market.ts';

/** Cached days of hours per market: more than 11 years. */
const daysKept = 4500;

export class CandleMaker {
  readonly #market: SimulatedMarket;
  readonly #hoursOfDay = new LRUCache<number, Columns>({ max: daysKept });
  readonly #minutes = columns(minutesPerDay);

  constructor(market: SimulatedMarket) {
    this.#market = market;
  }

  /** Candles whose period starts in `range`, ascending, as of `nowMs`. */
  rows(interval: CandleInterval, range: TimeRange, nowMs: EpochMs): Candle[] {
    const length = intervalMs[interval];
    const firstMs = periodStart(Math.max(range.startMs, originMs) + length - 1, interval);
    // A period that starts before `end` is included whole.
    const lastMs = Math.min(range.endMs, nowMs + 1) - 1;
    if (lastMs < firstMs) return [];
    const endMs = periodStart(lastMs, interval) + length;
    const unitMs = length < hourMs ? minuteMs : hourMs;
    const units = this.#units(firstMs, endMs, unitMs, nowMs);
    return this.#group(units, firstMs, endMs, length, length / unitMs);
  }

  /** The market's hours of one day as of `nowMs`. */
  hours(day: number, nowMs: EpochMs): Columns {
    const kept = this.#hoursOfDay.get(day);
    const closed = dayStartMs(day + 1) <= nowMs;
    if (kept !== undefined && closed) return kept;
    const hours = columns(hoursPerDay);
    this.#market.fillDay(day, nowMs, this.#minutes);
    for (let hour = 0; hour < hoursPerDay; hour++) {
      aggregate(this.#minutes, hour * minutesPerHour, (hour + 1) * minutesPerHour, hours, hour);
    }
    if (closed) this.#hoursOfDay.set(day, hours);
    return hours;
  }

  /** The minutes or hours of `[firstMs, endMs)` in contiguous columns. */
  #units(firstMs: EpochMs, endMs: EpochMs, unitMs: number, nowMs: EpochMs): Columns {
    const run = columns((endMs - firstMs) / unitMs);
    const perDay = dayMs / unitMs;
    for (let day = dayOf(firstMs); dayStartMs(day) < Math.min(endMs, nowMs + 1); day++) {
      const source = unitMs === hourMs ? this.hours(day, nowMs) : this.#minutesOf(day, nowMs);
      const offset = (dayStartMs(day) - firstMs) / unitMs;
      const to = Math.min(perDay, run.open.length - offset);
      for (let at = Math.max(0, -offset); at < to; at++) {
        if (source.open[at] !== 0) copyCandle(source, at, run, offset + at);
      }
    }
    return run;
  }

  #minutesOf(day: number, nowMs: EpochMs): Columns {
    this.#market.fillDay(day, nowMs, this.#minutes);
    return this.#minutes;
  }

  #group(units: Columns, firstMs: EpochMs, endMs: EpochMs, length: number, unitsEach: number): Candle[] {
    const rows: Candle[] = [];
    const one = columns(1);
    let last = 0;
    let lastText = '' as DecimalText;
    for (let period = firstMs, at = 0; period < endMs; period += length, at += unitsEach) {
      aggregate(units, at, at + unitsEach, one, 0);
      const [open = 0] = one.open;
      if (open === 0) continue;
      // A candle usually opens at the previous close, whose text is reused.
      const openText = open === last ? lastText : this.#priceText(open);
      last = one.close[0] ?? 0;
      lastText = this.#priceText(last);
      rows.push({
        open: openText,
        high: this.#priceText(one.high[0] ?? 0),
        low: this.#priceText(one.low[0] ?? 0),
        close: lastText,
        volume: amountText(one.volume[0] ?? 0, this.#market.volumeScale, one.tail[0] ?? 0, volumeTailDigits),
        period,
      });
    }
    return rows;
  }

  #priceText(units: number): DecimalText {
    const { priceScale, priceTailDigits } = this.#market;
    return amountText(units, priceScale, priceTail(units, priceTailDigits), priceTailDigits);
  }
}
