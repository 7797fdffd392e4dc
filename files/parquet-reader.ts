/**
 * Reads Parquet by row groups. hyparquet converts a DECIMAL to a double, so it gets a schema without logical types and
 * returns the stored integers and bytes.
 */

import { asyncBufferFromFile, parquetMetadataAsync, parquetRead, type SchemaElement } from 'hyparquet';
import type { StoredDataset } from '../model/stored-datasets.ts';
import { FileProblem } from './file-problem.ts';
import { columnsOf, type FileRow, layoutOf, type ReadRow, type RowFile } from './layout.ts';
import { decimalOf, doubleEnding, fractionDigits } from './parquet-writer.ts';

/** Rows of a page. */
const pageRows = 5000;

type Cells = ArrayLike<unknown>;
/** Converts a cell. @param digits of the fraction; null: without trailing zeros. */
type Reading = (cell: unknown, digits: number | null) => string | null;

/** @throws Error when it is not a Parquet file of an export. */
export async function readParquet(path: string, dataset: StoredDataset | null): Promise<RowFile> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  // Other programs compress by other codecs than Snappy. The package compiles WebAssembly when it is loaded.
  const { compressors } = await import('hyparquet-compressors');
  const columns = metadata.schema
    .slice(1)
    .filter(({ type, name }) => !(type === 'DOUBLE' && name.endsWith(doubleEnding)))
    .map((element) => ({ ...element }));
  const names = columns.map(({ name }) => name);
  const layout = layoutOf(
    names.filter((name) => name !== fractionDigits),
    dataset,
  );
  const readings = new Map(columns.map((column) => [column.name, readingOf(column)]));
  const toMs = timeReading(columns.find(({ name }) => name === 'time'));
  const bare = { ...metadata, schema: metadata.schema.map(withoutMeaning) };

  function rowAt(cells: ReadonlyMap<string, Cells>, place: number, rowStart: number): FileRow {
    const digits = cells.get(fractionDigits)?.[place];
    const places = typeof digits === 'string' ? digits.split(' ').map(Number) : [];
    const read = (name: string, at: number | null) => readings.get(name)?.(cells.get(name)?.[place], at) ?? null;
    return {
      names: layout.names.map((name) => read(name, null)),
      time: toMs(cells.get('time')?.[place]),
      values: layout.values.map((name, at) => read(name, places[at] ?? null)),
      place: `row ${rowStart + place + 1}`,
    };
  }
  return {
    layout,
    async *pages() {
      let rowStart = 0;
      for (const group of metadata.row_groups) {
        const rows = Number(group.num_rows);
        const cells = await cellsOf({ rowStart, rowEnd: rowStart + rows });
        for (let at = 0; at < rows; at += pageRows) {
          const page: ReadRow[] = [];
          for (let place = at; place < Math.min(rows, at + pageRows); place += 1)
            page.push(rowAt(cells, place, rowStart));
          yield page;
        }
        rowStart += rows;
      }
    },
  };

  async function cellsOf(rows: { rowStart: number; rowEnd: number }): Promise<Map<string, Cells>> {
    const found = new Map<string, unknown[]>();
    const known = new Set([...columnsOf(layout), fractionDigits]);
    await parquetRead({
      file,
      metadata: bare,
      compressors,
      // Otherwise the bytes of a decimal become text.
      utf8: false,
      ...rows,
      columns: names.filter((name) => known.has(name)),
      onChunk: ({ columnName, columnData }) => {
        const cells = found.get(columnName) ?? [];
        for (const cell of Array.from(columnData as ArrayLike<unknown>)) cells.push(cell);
        found.set(columnName, cells);
      },
    });
    return found;
  }
}

/** @throws FileProblem when the column holds neither text nor exact decimals. */
function readingOf({ name, type, converted_type, logical_type, scale }: SchemaElement): Reading {
  if (converted_type === 'DECIMAL' || logical_type?.type === 'DECIMAL') {
    return (cell, digits) => {
      const value = wholeOf(cell);
      return value === null ? null : decimalOf(value, scale ?? 0, digits);
    };
  }
  if (type === 'BYTE_ARRAY') return textOf;
  if (name === 'time') return () => null;
  const isUnsigned = converted_type?.startsWith('UINT') || (logical_type?.type === 'INTEGER' && !logical_type.isSigned);
  if ((type === 'INT32' || type === 'INT64') && !isUnsigned) return (cell) => wholeOf(cell)?.toString() ?? null;
  throw new FileProblem(
    `its column ${name} is of the type ${type ?? 'group'}, which holds no exact decimals`,
    'write it again with this column as a decimal or as text',
  );
}

/** @throws FileProblem when the column is not a timestamp. */
function timeReading(column: SchemaElement | undefined): (cell: unknown) => FileRow['time'] {
  const { type, converted_type, logical_type } = column ?? { name: 'time' };
  const unit = logical_type?.type === 'TIMESTAMP' ? logical_type.unit : converted_type?.replace('TIMESTAMP_', '');
  const perMs = { MILLIS: 1n, MICROS: 1000n, NANOS: 1_000_000n }[unit ?? ''];
  if (type !== 'INT64' || perMs === undefined)
    throw new FileProblem('its column time is not a timestamp', 'write it again with this column as a timestamp');
  return (cell) => {
    const value = wholeOf(cell);
    if (value === null) return null;
    return value % perMs === 0n ? Number(value / perMs) : `${value} ${unit}`;
  };
}

const utf8 = new TextDecoder();

/** Text without a logical type comes as bytes. */
function textOf(cell: unknown): string | null {
  if (cell instanceof Uint8Array) return utf8.decode(cell);
  return typeof cell === 'string' ? cell : null;
}

function wholeOf(cell: unknown): bigint | null {
  if (typeof cell === 'bigint') return cell;
  if (typeof cell === 'number' && Number.isSafeInteger(cell)) return BigInt(cell);
  if (!(cell instanceof Uint8Array)) return null;
  if (cell.length === 0) return 0n;
  return BigInt.asIntN(cell.length * 8, BigInt(`0x${Buffer.from(cell).toString('hex')}`));
}

/** Removes the logical type of a column, unless it is text. */
function withoutMeaning(element: SchemaElement): SchemaElement {
  if (element.converted_type === 'UTF8' || element.logical_type?.type === 'STRING') return element;
  const { converted_type, logical_type, ...bare } = element;
  return bare;
}
