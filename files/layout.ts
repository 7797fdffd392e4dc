/**
 * What a row of a file is: the names that say whose point it is, its time, and its values. The same in every format.
 */

import type { EpochMs } from '../contract/intervals.ts';
import type { StoredDataset } from '../contract/series.ts';

export const fileFormats = ['csv', 'jsonl', 'parquet'] as const;
export type FileFormat = (typeof fileFormats)[number];

export interface Layout {
  readonly dataset: StoredDataset;
  /** Columns of text, the same for every point of a series. */
  readonly names: readonly string[];
  /** Columns of exact decimals. */
  readonly values: readonly string[];
}

/** As the views of the same names have them, and in their order: names, then `time`, then values. */
export const layouts: Readonly<Record<StoredDataset, Layout>> = Object.freeze({
  candles: {
    dataset: 'candles',
    names: ['exchange', 'base', 'quote', 'interval'],
    values: ['open', 'high', 'low', 'close', 'volume'],
  },
  asset_history: { dataset: 'asset_history', names: ['asset', 'interval'], values: ['price_usd'] },
  rates: { dataset: 'rates', names: ['currency', 'symbol', 'currency_symbol', 'type'], values: ['rate_usd'] },
});

/** Every column of a layout, in the order of the file. */
export function columnsOf(layout: Layout): string[] {
  return [...layout.names, 'time', ...layout.values];
}

/** Null where there is none, as a currency may have no symbol of its own. */
export type Names = readonly (string | null)[];

export interface Point {
  readonly timeMs: EpochMs;
  /** Decimals as text, with all their digits, in the order of the layout. */
  readonly values: readonly string[];
}

/** Some points of one series, ascending. */
export interface Rows {
  readonly names: Names;
  readonly points: readonly Point[];
}

/** A row as a file has it: nothing about it is certain yet. */
export interface FileRow {
  readonly names: Names;
  /** A number where it is a time in the file's form, otherwise what stands there. */
  readonly time: EpochMs | string | null;
  readonly values: readonly (string | null)[];
}

/** A row from its cells, which are in the order of {@link columnsOf}. */
export function rowOf(layout: Layout, cells: readonly (string | null)[]): FileRow {
  const nameCount = layout.names.length;
  return {
    names: cells.slice(0, nameCount),
    time: timeOf(cells[nameCount] ?? null),
    values: cells.slice(nameCount + 1),
  };
}

/** `2024-01-31T06:00:00Z`, with milliseconds where there are any. */
export function timeText(timeMs: EpochMs): string {
  return new Date(timeMs).toISOString().replace('.000Z', 'Z');
}

const timePattern = /^\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{3})?Z$/;

/** The moment of a text as {@link timeText} writes it, or the text itself when it is none. */
export function timeOf(text: string | null): EpochMs | string | null {
  if (text === null || !timePattern.test(text)) return text;
  const timeMs = Date.parse(text);
  // Date.parse takes a 30th of February.
  return Number.isNaN(timeMs) || timeText(timeMs) !== text.replace('.000Z', 'Z') ? text : timeMs;
}

/** The layout that has exactly these columns, in any order; null when none has. */
export function layoutOf(columns: readonly string[]): Layout | null {
  const sorted = (list: readonly string[]) => [...list].sort().join('\n');
  return (
    Object.values(layouts).find((layout) => sorted(columnsOf(layout)) === sorted([...new Set(columns)])) ??
    null
  );
}
