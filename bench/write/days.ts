/** The data of the write benchmark: days of one-minute candles of a few markets, the same in every process. */

import { systemClock } from '../../clock.ts';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import type { Candle } from '../../v2/resources.ts';

export interface Day {
  readonly series: CandleSeries;
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
  readonly rows: readonly Candle[];
}

const fromMs: EpochMs = Date.UTC(2024, 0, 1);
/** Four markets that trade every minute, except for outages. */
const pairs = [
  ['bitcoin', 'tether'],
  ['ethereum', 'tether'],
  ['xrp', 'tether'],
  ['ethereum', 'bitcoin'],
] as const;

export const benchSeries: readonly CandleSeries[] = pairs.map(([baseId, quoteId]) => ({
  dataset: 'candles',
  exchange: 'binance',
  baseId,
  quoteId,
  interval: 'm1',
}));

/** The range of `days` that is stored for each series. */
export function benchRange(days: number): { startMs: EpochMs; endMs: EpochMs } {
  return { startMs: fromMs, endMs: fromMs + days * dayMs };
}

/** Each day of each series, in order of series and time. */
export function* everyDay(days: number): Generator<Day> {
  const { truth } = createSimulator({ seed: 'bench', clock: systemClock });
  for (const series of benchSeries) {
    for (let day = 0; day < days; day += 1) {
      const range = { startMs: fromMs + day * dayMs, endMs: fromMs + (day + 1) * dayMs };
      yield { series, ...range, rows: truth.candles(series, range) };
    }
  }
}

/** The query for one day, which is also the key of the answer in the local source. */
export function dayQuery(day: Pick<Day, 'series' | 'startMs' | 'endMs'>): string {
  const { exchange, baseId, quoteId, interval } = day.series;
  return new URLSearchParams({
    exchange,
    interval,
    baseId,
    quoteId,
    start: String(day.startMs),
    end: String(day.endMs),
  }).toString();
}
