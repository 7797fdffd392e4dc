/** Values that the simulated service changes afterwards, on request: from a moment on it gives others than before. */

import type { EpochMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import { type CandleSeries, type HistorySeries, type SeriesKey, seriesName } from '../contract/series.ts';
import type { TimeRange } from '../service/market-data.ts';

/** Other series that hold the same moment are not changed along. */
export interface Revision {
  readonly series: SeriesKey;
  /** Start of the candle, or the point's own time. */
  readonly timeMs: EpochMs;
  /** What becomes different, or, where there was no point, all of it; null: there is no such point any more. */
  readonly values: Partial<Omit<Candle, 'period'>> | Partial<Omit<HistoryPoint, 'time'>> | null;
  /** By the service's clock, the first moment at which it is so. */
  readonly fromMs: EpochMs;
}

export class Revisions {
  readonly #bySeries = new Map<string, Revision[]>();

  /** A later revision of the same point goes over an earlier one. */
  add(revision: Revision): void {
    const name = `${revision.series.dataset} ${seriesName(revision.series)}`;
    this.#bySeries.set(name, [...(this.#bySeries.get(name) ?? []), revision]);
  }

  candles(series: CandleSeries, range: TimeRange, rows: Candle[], nowMs: EpochMs): Candle[] {
    return this.#applied(series, range, rows, nowMs, (row) => row.period, 'period');
  }

  history(series: HistorySeries, range: TimeRange, rows: HistoryPoint[], nowMs: EpochMs): HistoryPoint[] {
    return this.#applied(series, range, rows, nowMs, (row) => row.time, 'time');
  }

  #applied<Row extends object>(
    series: SeriesKey,
    range: TimeRange,
    rows: Row[],
    nowMs: EpochMs,
    timeOf: (row: Row) => EpochMs,
    timeField: string,
  ): Row[] {
    const known = this.#bySeries.get(`${series.dataset} ${seriesName(series)}`) ?? [];
    const valid = known.filter(
      ({ fromMs, timeMs }) => fromMs <= nowMs && timeMs >= range.startMs && timeMs < range.endMs,
    );
    if (valid.length === 0) return rows;
    const byTime = new Map(rows.map((row) => [timeOf(row), row]));
    for (const { timeMs, values } of valid) {
      if (values === null) byTime.delete(timeMs);
      else byTime.set(timeMs, { ...byTime.get(timeMs), ...values, [timeField]: timeMs } as Row);
    }
    return [...byTime.values()].sort((a, b) => timeOf(a) - timeOf(b));
  }
}
