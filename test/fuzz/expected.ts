/** What may be stored of an answer, and what must be, by a second reading of its text. */

import { compareDecimals, decimalText } from '../../contract/decimal.ts';
import { type EpochMs, isOnGrid } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import { field, fieldText, numberText, readExactly, shown } from './exact-reading.ts';

export interface Expected {
  /** By time: the values that some row of the answer has for it, as the database would show them. */
  readonly allowed: ReadonlyMap<EpochMs, readonly string[]>;
  /** Times of rows that leave no doubt, alone for their time. */
  readonly due: readonly EpochMs[];
  /** Rows of any kind; null when the answer holds no list. */
  readonly rows: number | null;
}

/** @returns null when the body is no JSON. */
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
  return { allowed, due: [...plain].filter((timeMs) => seen.get(timeMs) === 1), rows: data.length };
}

/** As every row of every recording is. */
function isPlain(texts: ReadonlyArray<string | null>, series: SeriesKey, timeMs: EpochMs): boolean {
  if (texts.some((text) => text === null || !/^\d{1,30}\.\d{1,30}$/.test(text))) return false;
  if (!isOnGrid(timeMs, series.interval) && series.dataset === 'candles') return false;
  if (series.dataset === 'asset_history') return true;
  const [open, high, low, close] = texts.map((text) => decimalText(text ?? ''));
  if (open === undefined || high === undefined || low === undefined || close === undefined) return false;
  return [open, close].every((text) => compareDecimals(low, text) <= 0 && compareDecimals(text, high) <= 0);
}
