/**
 * The price history of one asset.
 *
 * Minute and hour points are the price at that time. A `d1` point is the mean of the day's minute points, rounded half
 * up to 16 fraction digits. The current day has no point, and a few days are missing (field notes, "Time").
 */

import { LRUCache } from 'lru-cache';
import type { HistoryInterval } from '../model/datasets/asset-history.ts';
import type { DecimalText } from '../model/decimal.ts';
import { dayMs, type EpochMs, intervalMs, minuteMs, periodStart } from '../model/intervals.ts';
import type { TimeRange } from '../model/series.ts';
import type { HistoryPoint } from '../v2/resources.ts';
import { dayOf, dayStartMs, hoursPerDay, minutesPerDay, minutesPerHour, originMs } from './calendar.ts';
import { amountText, amountUnits, fixedText, priceTail } from './digits.ts';
import type { Outages } from './faults/outages.ts';
import { streamKey, uniformAt } from './hash.ts';
import type { Walk } from './walk.ts';

const missingDayShare = 0.003;
const daysKept = 4500;

export class AssetHistory {
  readonly #walk: Walk;
  readonly #outages: Outages;
  readonly #key: number;
  readonly #means = new LRUCache<number, DecimalText>({ max: daysKept });
  readonly #minutes = new Float64Array(minutesPerDay + 1);
  readonly #hours = new Float64Array(hoursPerDay + 1);

  constructor(seed: string, id: string, walk: Walk, outages: Outages) {
    this.#walk = walk;
    this.#outages = outages;
    this.#key = streamKey(seed, 'history', id);
  }

  /** Points in `range`, ascending, as of `nowMs`. */
  points(interval: HistoryInterval, range: TimeRange, nowMs: EpochMs): HistoryPoint[] {
    const step = intervalMs[interval];
    const first = periodStart(Math.max(range.startMs, originMs) + step - 1, interval);
    const known = interval === 'd1' ? nowMs - dayMs : nowMs;
    const end = Math.min(range.endMs, known + 1);
    const points: HistoryPoint[] = [];
    for (let day = dayOf(first); dayStartMs(day) < end; day++) {
      if (interval === 'd1') this.#addMean(day, points);
      else this.#addDay(day, step, Math.max(first, dayStartMs(day)), end, points);
    }
    return points;
  }

  #addDay(day: number, stepMs: number, firstMs: EpochMs, endMs: EpochMs, points: HistoryPoint[]): void {
    const hourly = stepMs >= minutesPerHour * minuteMs;
    const prices = hourly ? this.#hours : this.#minutes;
    if (hourly) this.#walk.hours(day, prices);
    else this.#walk.minutes(day, prices);
    const outages = this.#outages(day, this.#key);
    const startMs = dayStartMs(day);
    const stopMs = Math.min(endMs, startMs + dayMs);
    for (let time = firstMs; time < stopMs; time += stepMs) {
      const minute = (time - startMs) / minuteMs;
      if (outages.some((outage) => minute >= outage.start && minute < outage.end)) continue;
      const units = prices[hourly ? minute / minutesPerHour : minute] as number;
      points.push({ priceUsd: priceText(this.#walk, units), time });
    }
  }

  #addMean(day: number, points: HistoryPoint[]): void {
    if (uniformAt(this.#key, day) < missingDayShare) return;
    let priceUsd = this.#means.get(day);
    if (priceUsd === undefined) {
      priceUsd = this.#mean(day);
      this.#means.set(day, priceUsd);
    }
    points.push({ priceUsd, time: dayStartMs(day) });
  }

  #mean(day: number): DecimalText {
    const { scale, tailDigits } = this.#walk;
    this.#walk.minutes(day, this.#minutes);
    const absent = new Set<number>();
    for (const outage of this.#outages(day, this.#key)) {
      for (let minute = outage.start; minute < outage.end; minute++) absent.add(minute);
    }
    let units = 0;
    let tails = 0;
    for (let minute = 0; minute < minutesPerDay; minute++) {
      if (absent.size > 0 && absent.has(minute)) continue;
      const price = this.#minutes[minute] as number;
      units += price;
      if (tailDigits > 0) tails += priceTail(price, tailDigits);
    }
    const count = BigInt(minutesPerDay - absent.size);
    const sum = amountUnits(units, scale, tails, tailDigits);
    return fixedText((2n * sum + count) / (2n * count));
  }
}

/** The text of a price of this walk. */
export function priceText(walk: Walk, units: number): DecimalText {
  return amountText(units, walk.scale, priceTail(units, walk.tailDigits), walk.tailDigits);
}
