/** From a row of a file to a point of a series: checked as a row of an answer is, by the same code. */

import { id } from '../contract/fields.ts';
import { type EpochMs, isCandleInterval, isHistoryInterval } from '../contract/intervals.ts';
import type { Candle, HistoryPoint, Rate } from '../contract/resources.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { FileRow, Layout, Names } from '../files/layout.ts';
import { candleReader, readHistoryPoint, readRate } from '../source/rows.ts';

/** The series that the names of a row name, or as a text the reason why there is none. */
export function seriesNamed(layout: Layout, names: Names): SeriesKey | string {
  const wrong = names.findIndex((name) => !id.safeParse(name).success);
  if (wrong !== -1) return `${layout.names[wrong]}: not an id`;
  const [first = '', second = '', third = '', fourth = ''] = names.map((name) => name ?? '');
  if (layout.dataset === 'candles') {
    return isCandleInterval(fourth)
      ? { dataset: 'candles', exchange: first, baseId: second, quoteId: third, interval: fourth }
      : 'interval: candles have no such interval';
  }
  return isHistoryInterval(second)
    ? { dataset: 'asset_history', assetId: first, interval: second }
    : 'interval: a history has no such interval';
}

/** As the interface has them, and as quarantine keeps them. */
export function candleOf(row: FileRow, interval: Extract<SeriesKey, { dataset: 'candles' }>['interval']) {
  const [open, high, low, close, volume] = row.values;
  return read<Candle>({ open, high, low, close, volume, period: row.time }, candleReader(interval));
}

export function historyPointOf(row: FileRow) {
  return read<HistoryPoint>({ priceUsd: row.values[0], time: row.time }, readHistoryPoint);
}

export interface TimedRate {
  readonly timeMs: EpochMs;
  readonly rate: Rate;
}

export function rateOf(row: FileRow) {
  const [name, symbol, currencySymbol, type] = row.names;
  const value = { id: name, symbol, currencySymbol, type, rateUsd: row.values[0], time: row.time };
  return read<TimedRate>(value, (candidate) => {
    const rate = readRate(candidate);
    if (typeof rate === 'string') return rate;
    return typeof row.time === 'number' && Number.isSafeInteger(row.time) && row.time >= 0
      ? { timeMs: row.time, rate }
      : 'time: not a time';
  });
}

export interface Refusal {
  readonly raw: string;
  readonly reason: string;
}

function read<Row extends object>(
  value: object,
  reader: (value: unknown) => Row | string,
): { row: Row; refusal: null; raw: string } | { row: null; refusal: Refusal; raw: string } {
  const row = reader(value);
  const raw = JSON.stringify(value);
  return typeof row === 'string'
    ? { row: null, refusal: { raw, reason: row }, raw }
    : { row, refusal: null, raw };
}
