/** Reads Parquet by pages: their columns into tuples, and a row whose values are no decimals by itself. */

import { open } from 'node:fs/promises';
import { type AsyncBuffer, asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { writeNull } from '../model/binary/numeric.ts';
import type { StoredDataset } from '../model/stored-datasets.ts';
import { columnsOf, type FileRow, layoutOf } from './layout.ts';
import { type Cells, cellAt } from './parquet/cells.ts';
import { type ByteSource, ColumnReader, PieceReader } from './parquet/column-reader.ts';
import { doubleEnding, fractionDigits } from './parquet/schema.ts';
import { decimalColumn, textReading, timeReading, withoutMeaning } from './parquet-columns.ts';
import { type FilePage, PageCollector, type RowFile } from './point-pages.ts';

/** Rows of a page. */
const pageRows = 5000;
/** Of tuples. */
const pageBytes = 1 << 20;

/** @throws Error when it is not a Parquet file of an export. */
export async function readParquet(path: string, dataset: StoredDataset | null): Promise<RowFile> {
  return readFrom(await asyncBufferFromFile(path), () => open(path), dataset);
}

/** As {@link readParquet}, of a file in memory. */
export function readParquetContent(content: Buffer, dataset: StoredDataset | null): Promise<RowFile> {
  const buffer = {
    byteLength: content.length,
    slice: (from: number, to?: number) => Uint8Array.from(content.subarray(from, to)).buffer,
  };
  const pieces = {
    read: async (into: Uint8Array, offset: number, length: number, position: number) => ({
      bytesRead: content.copy(into, offset, position, position + length),
    }),
    async close() {},
  };
  return readFrom(buffer, async () => pieces, dataset);
}

async function readFrom(
  file: AsyncBuffer,
  openPieces: () => Promise<ByteSource>,
  dataset: StoredDataset | null,
): Promise<RowFile> {
  const metadata = await parquetMetadataAsync(file);
  // Other programs compress by other codecs than Snappy. The package compiles WebAssembly when it is loaded.
  const { compressors } = await import('hyparquet-compressors');
  const elements = metadata.schema
    .slice(1)
    .filter(({ type, name }) => !(type === 'DOUBLE' && name.endsWith(doubleEnding)))
    .map((element) => ({ ...element }));
  const present = elements.map(({ name }) => name);
  const layout = layoutOf(
    present.filter((name) => name !== fractionDigits),
    dataset,
  );
  const values = layout.values.map((name) => {
    const element = elements.find((one) => one.name === name);
    return element === undefined ? null : decimalColumn(element, layout.optional.includes(name));
  });
  const timesOf = timeReading(elements.find(({ name }) => name === 'time'));
  const schema = metadata.schema.map(withoutMeaning);
  const known = new Set([...columnsOf(layout), fractionDigits]);
  const read = present.filter((name) => known.has(name));

  async function* pages(): AsyncGenerator<FilePage> {
    const collector = new PageCollector(layout, 'row', pageBytes);
    const handle = await openPieces();
    try {
      const source = { pieces: new PieceReader(handle), compressors, schema };
      let rowStart = 0;
      for (const group of metadata.row_groups) {
        const rows = Number(group.num_rows);
        const columns = read.map((name) => new ColumnReader(source, group, name));
        for (let from = 0, to = 0; from < rows; from = to) {
          for (const column of columns) await column.reach(from);
          to = Math.min(rows, from + pageRows, ...columns.map(({ end }) => end));
          const cells = new Map(columns.map((column) => [column.name, column.slice(from, to)]));
          const readRow = rowReader(cells, collector, rowStart + from);
          for (let place = 0; place < to - from; place += 1) readRow(place);
          yield* collector.take();
        }
        rowStart += rows;
      }
    } finally {
      await handle.close();
    }
  }

  /** @returns a function that reads the row at a place into the pages. */
  function rowReader(cells: ReadonlyMap<string, Cells>, collector: PageCollector, rowStart: number) {
    const cellsOf = (name: string) => cells.get(name) ?? [];
    const timeAt = timesOf(cellsOf('time'));
    const digits = textReading(cellsOf(fractionDigits));
    const names = layout.names.map((name) => textReading(cellsOf(name)));
    const valueCells = layout.values.map(cellsOf);
    const writers = values.map((column, at) => column?.writerOf(valueCells[at] ?? []) ?? writeNone);
    const read = new Map<string | null, readonly number[]>();

    function digitsAt(place: number): readonly number[] {
      const text = digits(place);
      const known = read.get(text);
      if (known !== undefined) return known;
      const found = text?.split(' ').map(digitCount) ?? [];
      read.set(text, found);
      return found;
    }
    function hasNamesOf(place: number): boolean {
      const known = collector.names;
      for (let at = 0; at < names.length; at += 1) if (names[at]?.(place) !== known[at]) return false;
      return true;
    }
    function writeTuple(place: number): boolean {
      const timeMs = timeAt(place);
      if (typeof timeMs !== 'number') return false;
      let end = collector.begin(timeMs);
      const all = digitsAt(place);
      for (let at = 0; at < writers.length && end >= 0; at += 1)
        end = writers[at]?.(place, all[at] ?? 0, collector.bytes, end) ?? -1;
      if (end >= 0) collector.keep(timeMs, end, rowStart + place + 1);
      return end >= 0;
    }
    function rowAt(place: number): FileRow {
      const all = digitsAt(place);
      return {
        names: names.map((nameAt) => nameAt(place)),
        time: timeAt(place),
        values: values.map(
          (column, at) => column?.textOf(cellAt(valueCells[at] ?? [], place), all[at] ?? null) ?? null,
        ),
        place: `row ${rowStart + place + 1}`,
      };
    }
    return (place: number): void => {
      if (!hasNamesOf(place)) collector.names = rowAt(place).names;
      if (layout.dataset === 'rates' || !writeTuple(place)) collector.addRow(rowAt(place));
    };
  }
  return { layout, rows: Number(metadata.num_rows), pages };
}

/** Without a usable number, a value has no zeros at its end. */
function digitCount(text: string): number {
  const count = Number(text);
  return Number.isInteger(count) && count > 0 ? count : 0;
}

/** Of an optional column that the file lacks. */
const writeNone = (_place: number, _digits: number, bytes: Buffer, to: number) => writeNull(bytes, to);
