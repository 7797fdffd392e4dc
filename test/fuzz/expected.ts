/** The points of an answer that may be stored, and those that must be, according to a second parser. */

import { compareDecimals, decimalText } from '../../model/decimal.ts';
import { type EpochMs, intervalMs, isOnGrid } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { field, fieldText, numberText, readExactly, shown } from './exact-reading.ts';

export interface Expected {
  /** By time: the values that any row of the answer has for it, as the database would show them. */
  readonly allowed: ReadonlyMap<EpochMs, readonly string[]>;
  /** Times of valid rows that are unique for their time, in periods that had ended when the answer was made. */
  readonly due: readonly EpochMs[];
  /** The number of rows of any kind. Null when the answer has no list. */
  readonly rows: number | null;
}

/** @returns null when the body is not JSON. */
export function expectedOf(body: Buffer, series: SeriesKey, window: Range): Expected | null {
  const tree = readExactly(body);
  if (tree === undefined) return null;
  const data = Array.isArray(tree) ? tree : field(tree, 'data');
  if (!Array.isArray(data)) return { allowed: new Map(), due: [], rows: null };
  const timeName = series.dataset === 'candles' ? 'period' : 'time';
  const names = series.dataset === 'candles' ? ['open', 'high', 'low', 'close', 'volume'] : ['priceUsd'];
  const allowed = new Map<EpochMs, string[]>();
  const seen = new Map<EpochMs, number>();
  const plain = new Set<EpochMs>();
  for (const row of data) {
    const timeMs = Number(numberText(field(row, timeName)) ?? Number.NaN);
    if (!(timeMs >= window.startMs && timeMs < window.endMs)) continue;
    seen.set(timeMs, (seen.get(timeMs) ?? 0) + 1);
    const texts = names.map((name) => fieldText(row, name));
    const values = texts.map((text) => (text === null ? null : shown(text)));
    if (values.includes(null)) continue;
    allowed.set(timeMs, [...(allowed.get(timeMs) ?? []), values.join(' ')]);
    if (isPlain(texts, series, timeMs)) plain.add(timeMs);
  }
  // An answer from before the end of a period, by its own timestamp, may be dropped as stale.
  const timestamp = Number(numberText(field(tree, 'timestamp')) ?? Number.NaN);
  const answeredMs = Number.isNaN(timestamp) ? Number.POSITIVE_INFINITY : timestamp;
  const isDue = (timeMs: EpochMs) => seen.get(timeMs) === 1 && timeMs + intervalMs[series.interval] <= answeredMs;
  return { allowed, due: [...plain].filter(isDue), rows: data.length };
}

/** Whether the row has the form of every recorded row. */
function isPlain(texts: ReadonlyArray<string | null>, series: SeriesKey, timeMs: EpochMs): boolean {
  if (texts.some((text) => text === null || !/^\d{1,30}\.\d{1,30}$/.test(text))) return false;
  if (!isOnGrid(timeMs, series.interval) && series.dataset === 'candles') return false;
  if (series.dataset === 'asset_history') return true;
  const [open, high, low, close] = texts.map((text) => decimalText(text ?? ''));
  if (open === undefined || high === undefined || low === undefined || close === undefined) return false;
  return [open, close].every((text) => compareDecimals(low, text) <= 0 && compareDecimals(text, high) <= 0);
}
