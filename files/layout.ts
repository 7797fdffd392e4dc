/** The rows of files, in every format: names of the series, time, values. */

import { byDataset, columnNames, datasetText } from '../model/datasets/index.ts';
import type { EpochMs, Range } from '../model/intervals.ts';
import { keyNames } from '../model/series.ts';
import type { StoredDataset } from '../model/stored-datasets.ts';
import { parseWrittenTime } from '../model/time-text.ts';
import { FileProblem } from './file-problem.ts';

export const fileFormats = ['csv', 'jsonl', 'parquet'] as const;
export type FileFormat = (typeof fileFormats)[number];

export interface Layout {
  readonly dataset: StoredDataset;
  /** Columns of text, the same for every point of a series. */
  readonly names: readonly string[];
  /** Columns of exact decimals. */
  readonly values: readonly string[];
  /** Those of them that a point may lack. */
  readonly optional: readonly string[];
}

/** Columns in the order of the views of the same name: names, `time`, values. */
export const layouts: Readonly<Record<StoredDataset, Layout>> = Object.freeze({
  ...byDataset(({ of, columns }, dataset) => ({
    ...{ dataset, names: keyNames[of], values: columnNames[dataset] },
    optional: columns.flatMap(({ name, isOptional }) => (isOptional ? [name] : [])),
  })),
  rates: {
    ...{ dataset: 'rates', names: ['currency', 'symbol', 'currency_symbol', 'type'] },
    ...{ values: ['rate_usd'], optional: [] },
  },
});

/** Every column of a layout, in the order of the file. */
export function columnsOf(layout: Layout): string[] {
  return [...layout.names, 'time', ...layout.values];
}

/** Null: absent, as the symbol of a currency. */
export type Names = readonly (string | null)[];

export interface Point {
  readonly timeMs: EpochMs;
  /** Decimals as text with all digits, in the order of the layout; null: none. */
  readonly values: readonly (string | null)[];
}

/** A row of a file, not validated yet. */
export interface FileRow {
  readonly names: Names;
  /** A number, or the original text if it is not a time. */
  readonly time: EpochMs | string | null;
  readonly values: readonly (string | null)[];
  /** Where it stands, such as `line 12`, or `row 12` of a Parquet file. */
  readonly place: string;
  /** Its period may have been open when the file was made; absent: it had closed. */
  readonly mayBeOpen?: true;
  /** What contradicts it in columns that are not stored; absent: nothing. */
  readonly problem?: string;
}

/** Builds a row from cells in the order of {@link columnsOf}. @param place where it stands. */
export function rowOf(layout: Layout, cells: readonly (string | null)[], place: string): FileRow {
  const nameCount = layout.names.length;
  return {
    names: cells.slice(0, nameCount),
    time: timeOf(cells[nameCount] ?? null),
    values: cells.slice(nameCount + 1),
    place,
  };
}

/** `2024-01-31T06:00:00Z`, with milliseconds where there are any. */
export function timeText(timeMs: EpochMs): string {
  return new Date(timeMs).toISOString().replace('.000Z', 'Z');
}

export function rangeText({ startMs, endMs }: Range): { from: string; to: string } {
  return { from: timeText(startMs), to: timeText(endMs) };
}

const timePattern = /^\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{3})?Z$/;

/** What another program made of it: `2024-01-31 06:00:00+00`. Without an offset it may be of any zone. */
const writtenPattern = /:.*(?:Z|UTC|[+-]\d{2}(?::?\d{2})?)$/;

/** Parses a text of {@link timeText}, or one with its offset. @returns the text itself if it is not a time. */
function timeOf(text: string | null): EpochMs | string | null {
  if (text === null) return null;
  if (!timePattern.test(text)) return (writtenPattern.test(text) ? parseWrittenTime(text) : null) ?? text;
  const timeMs = Date.parse(text);
  // Date.parse accepts 30 February.
  return Number.isNaN(timeMs) || timeText(timeMs) !== text.replace('.000Z', 'Z') ? text : timeMs;
}

/**
 * @param dataset expected; null: what the columns say.
 * @returns the layout with exactly these columns, in any order; a file may lack the optional ones.
 * @throws FileProblem when they are those of no export, or of several.
 */
export function layoutOf(columns: readonly string[], dataset: StoredDataset | null): Layout {
  const found = Object.values(layouts).filter((layout) => {
    const known = columnsOf(layout);
    return (
      columns.every((name) => known.includes(name)) &&
      known.every((name) => columns.includes(name) || layout.optional.includes(name))
    );
  });
  const [first, another] = found;
  const expected = found.find((layout) => layout.dataset === dataset);
  if (expected !== undefined) return expected;
  const shown = columns.slice(0, 12).join(', ').slice(0, 200);
  if (another !== undefined)
    throw new FileProblem(
      `its columns are those of ${found.map((layout) => datasetText(layout.dataset)).join(' and of ')}: ${shown}`,
      'import it with the sidecar that `export` wrote for it, which says what it has',
    );
  if (first !== undefined) return first;
  throw new FileProblem(
    `its columns are not those of an export: ${shown}`,
    'for candles of another program, --format or --columns says how they are read',
  );
}

/** A row, or an unreadable one. */
export type ReadRow = FileRow | { readonly raw: string; readonly reason: string };

/** Resolves when it can take more, so a slow reader slows the writer. */
export interface Output {
  write(bytes: Uint8Array): Promise<void>;
}

/** Writes points as PostgreSQL's COPY gives them: the time, then the values in the order of the layout. */
export interface RowWriter {
  /** The format of COPY in which it takes them. */
  readonly takes: 'csv' | 'binary';
  /**
   * Writes the points of one series, ascending.
   *
   * @param copied pieces of any length. @param onRows called with the number of points of each; throws to stop.
   */
  writeSeries(names: Names, copied: AsyncIterable<Buffer>, onRows: (rows: number) => void): Promise<void>;
  /** Writes buffered rows. The output stays open. */
  end(): Promise<void>;
}
