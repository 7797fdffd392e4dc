/**
 * Points as text. Tens of thousands of them as objects would be copied by every garbage collection while they wait for
 * their commit.
 */

import { byDataset, type DatasetName, datasets } from './datasets/index.ts';
import type { DecimalText } from './decimal.ts';
import type { EpochMs } from './intervals.ts';

/** Points of a dataset, in any order. */
export interface PointLines {
  readonly dataset: DatasetName;
  readonly length: number;
  readonly timesMs: readonly EpochMs[];
  /** Holds the values, and may hold more: it is the body of an answer, or a file. A separator follows each value. */
  readonly text: Buffer;
  /**
   * Where each value starts in the text: those of the first point by column, then those of the second, ...; -1: none.
   */
  readonly at: Int32Array;
}

/** One point, with its values by column. */
export interface Point {
  readonly timeMs: EpochMs;
  readonly values: ReadonlyArray<DecimalText | null>;
}

const [tab, newline, quote, comma] = [9, 10, 34, 44] as const;

export function isSeparator(byte: number | undefined): boolean {
  return byte === tab || byte === newline || byte === comma || byte === quote;
}

const columnCounts = byDataset(({ columns }) => columns.length);

/** Collects points. @param text holds the values of the points that are kept. @param expected number of points. */
export function collectPoints(dataset: DatasetName, text: Buffer = Buffer.alloc(0), expected = 0) {
  const columns = columnCounts[dataset];
  const timesMs: EpochMs[] = [];
  let at = new Int32Array(Math.max(expected, 16) * columns);
  const added: string[] = [];
  let addedAt = text.length;

  /** Makes room for a point. @returns where its places are. */
  function place(timeMs: EpochMs): number {
    const from = timesMs.length * columns;
    if (from === at.length) {
      const longer = new Int32Array(2 * from);
      longer.set(at);
      at = longer;
    }
    timesMs.push(timeMs);
    return from;
  }

  return {
    /** Adds a point whose values stand in the text. @param starts where, by column; -1: none. */
    keep(timeMs: EpochMs, starts: Int32Array): void {
      const from = place(timeMs);
      for (let column = 0; column < columns; column += 1) at[from + column] = starts[column] ?? -1;
    },
    /** Adds a point, and its values to the text. */
    add({ timeMs, values }: Point): void {
      const from = place(timeMs);
      for (let column = 0; column < columns; column += 1) {
        const value = values[column] ?? null;
        at[from + column] = value === null ? -1 : addedAt;
        if (value === null) continue;
        added.push(value);
        addedAt += value.length + 1;
      }
    },
    end: (): PointLines => ({
      ...{ dataset, length: timesMs.length, timesMs },
      text: added.length === 0 ? text : Buffer.concat([text, Buffer.from(`${added.join('\n')}\n`, 'latin1')]),
      at: at.slice(0, timesMs.length * columns),
    }),
  };
}

export function linesOf(dataset: DatasetName, points: readonly Point[]): PointLines {
  const lines = collectPoints(dataset, undefined, points.length);
  for (const point of points) lines.add(point);
  return lines.end();
}

/** The points at some places. */
export function pickPoints(lines: PointLines, places: readonly number[]): PointLines {
  const columns = columnCounts[lines.dataset];
  const at = new Int32Array(places.length * columns);
  for (const [to, from] of places.entries())
    for (let column = 0; column < columns; column += 1)
      at[to * columns + column] = lines.at[from * columns + column] ?? -1;
  const timesMs = places.map((place) => lines.timesMs[place] ?? Number.NaN);
  return { ...lines, length: places.length, timesMs, at };
}

export function pointAt({ dataset, timesMs, text, at }: PointLines, place: number): Point {
  const columns = columnCounts[dataset];
  const values = Array.from({ length: columns }, (_, column) => textAt(text, at[place * columns + column] ?? -1));
  return { timeMs: timesMs[place] ?? Number.NaN, values };
}

/** The value that starts in the text at a place; null: none. */
function textAt(text: Buffer, start: number): DecimalText | null {
  if (start < 0) return null;
  let end = start;
  while (end < text.length && !isSeparator(text[end])) end += 1;
  return text.toString('latin1', start, end) as DecimalText;
}

/** A point in the form of the interface. */
export function pointObject(dataset: DatasetName, { timeMs, values }: Point): Readonly<Record<string, unknown>> {
  const { columns, timeField } = datasets[dataset];
  return Object.fromEntries([...columns.map(({ json }, column) => [json, values[column]]), [timeField, timeMs]]);
}
